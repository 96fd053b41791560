#include "tasktracker/executor/executor_api.h"

#include <utility>

#include "shared/base/secret.h"
#include "shared/wire/xxl/read.h"
#include "shared/wire/xxl/write.h"

namespace carillon::tasktracker {
namespace {

using wire::xxl::Reply;

constexpr std::size_t kLogReadsMax = 64;

std::string failure(std::string message) {
  return wire::xxl::write_reply({.code = wire::xxl::kFailure, .message = std::move(message)});
}

}  // namespace

Result<std::unique_ptr<ExecutorApi>> ExecutorApi::start(ExecutorApiConfig config, JobThreads& jobs,
                                                        const LogFolder& logs) {
  std::unique_ptr<ExecutorApi> api(new ExecutorApi(std::move(config), jobs, logs));
  api->log_reader_ =
      CARILLON_TRY(Thread::start("xxl-log-reader", [raw = api.get()] { raw->read_logs(); }));
  return api;
}

ExecutorApi::ExecutorApi(ExecutorApiConfig config, JobThreads& jobs, const LogFolder& logs)
    : config_(std::move(config)), jobs_(jobs), logs_(logs), log_reads_(kLogReadsMax + 1) {}

ExecutorApi::~ExecutorApi() {
  if (!log_reader_) return;
  // Full: the reader makes room soon.
  while (!log_reads_.put(std::nullopt)) {
  }
  log_reader_->join();
}

std::optional<std::string> ExecutorApi::check_head(const ExecutorCall& head) const {
  std::optional<std::string> refusal = refusal_of(head);
  if (!refusal) return std::nullopt;
  return failure(std::move(*refusal));
}

void ExecutorApi::call(const ExecutorCall& call, Answer answer) {
  if (std::optional<std::string> refusal = refusal_of(call)) {
    return answer(failure(std::move(*refusal)));
  }
  const std::string_view path = path_of(call);
  if (path == "/log") return read_log(call.body, std::move(answer));
  const Result<Reply> reply = carry_out(path, call.body);
  answer(reply.ok() ? wire::xxl::write_reply(reply.value()) : failure(reply.error().message));
}

// The texts and their order equal xxl-job's.
std::optional<std::string> ExecutorApi::refusal_of(const ExecutorCall& call) const {
  if (call.method != "POST") return "invalid request, HttpMethod not support.";
  if (path_of(call).empty()) return "invalid request, uri-mapping empty.";
  if (config_.token.empty()) return std::nullopt;
  if (!is_same_secret(call.token.value_or(""), config_.token)) return "The access token is wrong.";
  if (call.app_name && *call.app_name != config_.app_name) {
    return "invalid request, accessToken or appname invalid.";
  }
  return std::nullopt;
}

std::string_view ExecutorApi::path_of(const ExecutorCall& call) const {
  std::string_view path = call.target;
  // A proxy may keep or remove the path of the address.
  if (path.starts_with(config_.path)) path.remove_prefix(config_.path.size());
  return path;
}

Result<Reply> ExecutorApi::carry_out(std::string_view path, const std::string& body) {
  const auto unreadable = [](const Error& error) { return error.with_context("request error"); };
  if (path == "/beat") return Reply{};
  if (path == "/run" || path == "/trigger") {
    Result<wire::xxl::RunCall> call = wire::xxl::read_run(body);
    if (!call.ok()) return unreadable(call.error());
    return jobs_.run(std::move(call).value());
  }
  if (path == "/idleBeat" || path == "/kill") {
    const Result<wire::xxl::JobCall> call = wire::xxl::read_job(body);
    if (!call.ok()) return unreadable(call.error());
    if (path == "/idleBeat") return jobs_.idle_beat(call.value().job_id);
    Reply reply = jobs_.kill(call.value().job_id);
    // An admin appends it to its log of the run.
    if (reply.message.empty()) reply.message = "Success";
    return reply;
  }
  return Error{ErrorCode::kNotFound,
               "invalid request, uri-mapping(" + std::string{path} + ") not found."};
}

void ExecutorApi::read_log(const std::string& body, Answer answer) {
  const Result<wire::xxl::LogCall> call = wire::xxl::read_log(body);
  if (!call.ok()) return answer(failure("request error: " + call.error().message));
  std::optional<LogRead> read = LogRead{.call = call.value(), .answer = std::move(answer)};
  if (log_reads_.put(std::move(read))) return;
  read->answer(failure("too many log files are being read (slow down)"));
}

void ExecutorApi::read_logs() {
  while (true) {
    log_reads_.wait();
    while (std::optional<std::optional<LogRead>> next = log_reads_.take()) {
      if (!*next) return;
      const LogRead& read = **next;
      const bool is_growing = jobs_.is_running(read.call.log_id);
      read.answer(wire::xxl::write_log_reply(logs_.read(read.call, is_growing)));
    }
  }
}

}  // namespace carillon::tasktracker
