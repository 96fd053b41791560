#include "jobtracker/push/executor_calls.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "jobtracker/state/id_source.h"
#include "jobtracker/state/xxl_number.h"
#include "jobtracker/store/partitions.h"
#include "shared/job/run_words.h"
#include "shared/wire/xxl/read.h"

namespace carillon::jobtracker {
namespace {

using wire::xxl::BlockStrategy;

constexpr std::int64_t kLogIdsAMillisecond = 64;
// Executors accept numbers up to twice the second.
constexpr std::int64_t kDefinitionsFrom = 1 << 29;
constexpr std::int64_t kOneShotsFrom = 1 << 30;

// Texts of executors that discard a call (DISCARD_LATER): the Java executor and compatible ones,
// pyxxl, xxl-job-executor-go, and xxl-job of npm.
constexpr std::array<std::string_view, 4> kDiscardedTexts{
    "block strategy effect", "is already executing and this has been discarded",
    "There are tasks running", "There is already have a same job is running"};
constexpr std::array<std::string_view, 2> kNoSuchPathTexts{"uri-mapping(/run) not found",
                                                           "uri-mapping(/trigger) not found"};

std::uint64_t mixed(std::uint64_t value) {  // splitmix64
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

// Executors treat a script with another number as changed.
std::int64_t version_of(std::string_view source) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : source) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return static_cast<std::int64_t>(hash >> 20U);
}

// One executor rejects a call with an array of results. None: not an array.
std::optional<std::string> refusal_in_array(std::string_view body) {
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || body[first] != '[') return std::nullopt;
  const auto list = wire::xxl::read_results(body);
  if (!list.ok() || list.value().results.empty()) return "an array";
  return list.value().results.front().message.value_or("an array");
}

template <class Texts>
bool holds_any(const std::string& message, const Texts& texts) {
  return std::any_of(texts.begin(), texts.end(), [&](std::string_view text) {
    return message.find(text) != std::string::npos;
  });
}

RunVerdict refusal(std::string message, Block block) {
  const bool is_discard = block == Block::kDiscardLater && holds_any(message, kDiscardedTexts);
  return {.answer = is_discard ? RunAnswer::kDiscarded : RunAnswer::kRefused,
          .reason = std::move(message)};
}

}  // namespace

std::int64_t executor_job(DefinitionId definition, std::string_view task_id, JobId job) {
  if (!definition) {
    const std::uint64_t hash = mixed(static_cast<std::uint64_t>(job.value));
    return kOneShotsFrom + static_cast<std::int64_t>(hash % std::uint64_t{kOneShotsFrom});
  }
  if (const std::int32_t number = xxl_number(task_id); number != 0) return number;
  return kDefinitionsFrom + definition.value % kDefinitionsFrom;
}

std::int64_t next_log_id(std::int64_t last, std::int64_t id, GroupId group) {
  const std::int64_t first = IdSource::ms_of(id) * kLogIdsAMillisecond;
  return std::max(last / kPartitions + 1, first) * kPartitions + partition_of(group);
}

WallTime id_time_of_next_log(std::int64_t last) {
  return IdSource::at((last / kPartitions + 1) / kLogIdsAMillisecond);
}

std::int64_t last_log_id_of(std::int64_t id) {
  return ((IdSource::ms_of(id) + 1) * kLogIdsAMillisecond - 1) * kPartitions;
}

std::int64_t log_time_ms(std::int64_t log_id) {
  // An older version assigned ids like those of jobs.
  const std::int64_t ms =
      log_id > kLogIdMax ? IdSource::ms_of(log_id) : log_id / (kLogIdsAMillisecond * kPartitions);
  const Duration since_epoch = IdSource::at(ms).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
}

wire::xxl::RunCall run_call_of(const JobSpec& spec, std::int64_t executor_job) {
  wire::xxl::RunCall call{.job_id = executor_job, .param = spec.payload};
  switch (spec.push.block) {
    case Block::kSerialExecution:
      call.block = BlockStrategy::kSerial;
      break;
    case Block::kDiscardLater:
      call.block = BlockStrategy::kDiscardLater;
      break;
    case Block::kCoverEarly:
      call.block = BlockStrategy::kCoverEarly;
      break;
  }
  call.timeout_s = std::chrono::ceil<std::chrono::seconds>(spec.timeout).count();
  if (spec.run.kind == RunKind::kScript) {
    call.glue_type = glue_type(spec.run.script_language);
    call.glue_source = spec.run.script_source;
    call.glue_updated_ms = version_of(spec.run.script_source);
  } else {
    call.handler = spec.run.handler;
  }
  return call;
}

net::Post post_to(const std::string& address, std::string_view path, std::string body,
                  const std::string& token, const std::string& app_name, Duration timeout) {
  net::Post post{.url = address, .body = std::move(body), .timeout = timeout};
  if (!post.url.ends_with('/')) post.url += '/';
  post.url += path;
  post.headers.emplace_back("Content-Type", wire::xxl::kContentType);
  if (!token.empty()) post.headers.emplace_back(wire::xxl::kTokenHeader, token);
  post.headers.emplace_back(wire::xxl::kAppNameHeader, app_name);
  return post;
}

RunVerdict verdict_on_run(const net::PostOutcome& outcome, Block block) {
  if (outcome.kind == net::PostOutcome::Kind::kNotSent) {
    return {.answer = RunAnswer::kNotSent, .reason = outcome.error};
  }
  if (outcome.kind == net::PostOutcome::Kind::kUnknown) {
    return {.answer = RunAnswer::kUnknown, .reason = outcome.error};
  }
  const auto reply = wire::xxl::read_reply(outcome.body);
  if (!reply.ok()) {
    const std::string status = "HTTP status " + std::to_string(outcome.status);
    if (auto message = refusal_in_array(outcome.body)) return refusal(std::move(*message), block);
    if (wire::xxl::is_hessian(outcome.body)) {
      return {.answer = RunAnswer::kRefused, .reason = std::string{wire::xxl::kSpeaksHessian}};
    }
    // An error of a proxy (502, 504) does not show whether the executor got the request.
    const bool is_no_executor = outcome.status >= 300 && outcome.status < 500;
    if (is_no_executor || outcome.status == 501) {
      return {.answer = RunAnswer::kRefused, .reason = status};
    }
    return {.answer = RunAnswer::kUnknown, .reason = reply.error().message};
  }
  if (reply.value().ok()) return {.answer = RunAnswer::kTaken};
  const std::string& message = reply.value().message;
  if (holds_any(message, kNoSuchPathTexts)) return {.answer = RunAnswer::kOtherPath};
  return refusal(message.empty() ? "code " + std::to_string(reply.value().code) : message, block);
}

bool says_it_was_killed(std::string_view message) {
  return message.find("Job Task: ") != std::string_view::npos &&
         message.find(" is killed.") != std::string_view::npos;
}

bool says_it_is_lost(const wire::xxl::RunResult& result) {
  return result.code == wire::xxl::kFailure && result.message == wire::xxl::kKilledBeforeEnd;
}

BeatAnswer answer_to_beat(const net::PostOutcome& outcome) {
  if (outcome.kind == net::PostOutcome::Kind::kNotSent) {
    return outcome.is_refused ? BeatAnswer::kGone : BeatAnswer::kSilent;
  }
  if (outcome.kind == net::PostOutcome::Kind::kUnknown) return BeatAnswer::kSilent;
  const auto reply = wire::xxl::read_reply(outcome.body);
  if (!reply.ok()) return BeatAnswer::kSilent;
  return reply.value().ok() ? BeatAnswer::kYes : BeatAnswer::kNo;
}

}  // namespace carillon::jobtracker
