#include "tasktracker/executor/job_work.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "shared/base/log.h"
#include "shared/base/time_text.h"
#include "shared/base/utf8.h"

namespace carillon::tasktracker {
namespace {

using wire::xxl::RunCall;
using wire::xxl::RunResult;

constexpr std::size_t kMessageBytesMax = 50'000;  // like xxl-job's executor
constexpr std::string_view kHandlerType = "BEAN";

struct GlueType {
  std::string_view name{};
  std::string_view language{};
};
constexpr GlueType kGlueTypes[] = {
    {"GLUE_SHELL", "bash"}, {"GLUE_PYTHON", "python"},         {"GLUE_PYTHON2", "python2"},
    {"GLUE_PHP", "php"},    {"GLUE_POWERSHELL", "powershell"}, {"GLUE_NODEJS", "node"},
};

std::string cut(std::string message) {
  if (message.size() <= kMessageBytesMax) return message;
  return std::string{first_bytes(message, kMessageBytesMax)} + "...";
}

int shard_number(std::int64_t number, int least) {
  return static_cast<int>(std::clamp<std::int64_t>(number, least, std::numeric_limits<int>::max()));
}

Duration timeout_of(const RunCall& call) {
  constexpr std::int64_t kMax = std::int64_t{100} * 365 * 24 * 3600;
  return std::chrono::seconds{std::clamp<std::int64_t>(call.timeout_s, 0, kMax)};
}

// xxl-job's text, followed by further details.
std::string script_failure(int exit_code, std::string_view message) {
  const std::string number = std::to_string(exit_code);
  const std::string known = "exit status " + number;
  std::string text = "script exit value(" + number + ") is failed";
  if (message == known) return text;
  if (message.starts_with(known + ": ")) message.remove_prefix(known.size() + 2);
  return text + ": " + std::string{message};
}

// Converts a run's end for an admin.
void judge(const RunCall& call, RunEnd&& end, const RunControl& control, bool is_script,
           RunResult& result) {
  result.code = wire::xxl::kFailure;
  std::string message = std::move(end.message);
  const bool was_shut_down =
      end.outcome == wire::RunOutcome::kLater && control.reason() == StopReason::kShutdown;
  switch (was_shut_down ? wire::RunOutcome::kKilled : end.outcome) {
    case wire::RunOutcome::kSucceeded:
      result.code = wire::xxl::kSuccess;
      break;
    case wire::RunOutcome::kTimedOut:
      result.code = wire::xxl::kTimedOut;
      message = "job execute timeout after " + format_duration(timeout_of(call));
      break;
    case wire::RunOutcome::kKilled:
      message = control.detail() + " [job running, killed]";
      break;
    default:
      if (is_script && end.exit_code) {
        message = script_failure(*end.exit_code, message);
      } else if (end.outcome == wire::RunOutcome::kLater && message.empty()) {
        message = "the handler asked to run later, which xxl-job does not support";
      }
      break;
  }
  if (!message.empty()) result.message = cut(std::move(message));
}

// The only place that catches exceptions of hooks.
Status call_hook(const std::function<Status()>& hook) {
  try {
    return hook();
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::kInvalidArgument, std::string{"the handler threw: "} + thrown.what()};
  } catch (...) {
    return Error{ErrorCode::kInvalidArgument,
                 "the handler threw something that is not a std::exception"};
  }
}

}  // namespace

JobWork::JobWork(const RunCall& call, std::string app_name, std::string node, Runner& runner,
                 HandlerHooks hooks, std::optional<ScriptFile> script,
                 std::vector<std::string> command)
    : glue_type_(call.glue_type),
      handler_(call.handler),
      glue_updated_ms_(call.glue_updated_ms),
      app_name_(std::move(app_name)),
      node_(std::move(node)),
      runner_(runner),
      hooks_(std::move(hooks)),
      script_(std::move(script)),
      command_(std::move(command)) {}

JobWork::~JobWork() {
  if (!is_ready_ || !hooks_.destroy) return;
  const Status destroyed = call_hook([this]() -> Status {
    hooks_.destroy();
    return {};
  });
  if (!destroyed.ok()) {
    const Logger log{"xxl"};
    log.warn("a handler's destroy() failed", "handler", handler_, "reason",
             destroyed.error().message);
  }
}

bool JobWork::is_for(const RunCall& call) const {
  if (call.glue_type != glue_type_) return false;
  return script_ ? call.glue_updated_ms == glue_updated_ms_ : call.handler == handler_;
}

Status JobWork::init() {
  if (is_ready_) return {};
  if (hooks_.init) {
    Status done = call_hook(hooks_.init);
    if (!done.ok()) return done.error().with_context("init of handler '" + handler_ + "'");
  }
  is_ready_ = true;
  return {};
}

RunResult JobWork::run(const RunCall& call, RunControl& control) {
  RunResult result{.log_id = call.log_id, .log_time_ms = call.log_time_ms};
  if (const Status ready = init(); !ready.ok()) {
    result.code = wire::xxl::kFailure;
    result.message = cut(ready.error().message);
    return result;
  }
  const auto trigger_time = WallTime{std::chrono::milliseconds{call.log_time_ms}};
  RunRequest request{.job = {.task_id = std::to_string(call.job_id),
                             .job_id = JobId{call.log_id},
                             .attempt = 1,
                             .group = app_name_,
                             .node = node_,
                             .trigger_time = trigger_time,
                             .shard_index = shard_number(call.shard_index, 0),
                             .shard_total = shard_number(call.shard_total, 1)},
                     .timeout = timeout_of(call)};
  if (script_) {
    request.run.kind = RunKind::kCommand;
    request.run.command = command_;
    request.run.command.push_back(call.param);
    request.run.command.push_back(std::to_string(request.job.shard_index));
    request.run.command.push_back(std::to_string(request.job.shard_total));
  } else {
    request.run.kind = RunKind::kHandler;
    request.run.handler = handler_;
    request.job.payload = call.param;
  }
  judge(call, runner_.run(request, control), control, script_.has_value(), result);
  return result;
}

JobWorks::JobWorks(JobWorksConfig config, const Handlers& handlers, const HandlersHooks& hooks,
                   Runner& runner, ScriptFolder& scripts, const Environment& environment)
    : config_(std::move(config)),
      handlers_(handlers),
      hooks_(hooks),
      runner_(runner),
      scripts_(scripts),
      environment_(environment) {}

// The texts equal xxl-job's: users search logs for them.
Result<std::unique_ptr<JobWork>> JobWorks::make(const RunCall& call) const {
  if (call.glue_type == kHandlerType) {
    if (!config_.handlers_refused.empty()) {
      return Error{ErrorCode::kDenied,
                   "job handler [" + call.handler + "] not found: " + config_.handlers_refused};
    }
    if (!handlers_.contains(call.handler)) {
      return Error{ErrorCode::kNotFound, "job handler [" + call.handler + "] not found."};
    }
    const auto hooks = hooks_.find(call.handler);
    return std::make_unique<JobWork>(call, config_.app_name, config_.node, runner_,
                                     hooks == hooks_.end() ? HandlerHooks{} : hooks->second,
                                     std::nullopt, std::vector<std::string>{});
  }
  for (const GlueType& type : kGlueTypes) {
    if (type.name == call.glue_type) return make_script(call, type.language);
  }
  std::string message = "glueType[" + call.glue_type + "] is not valid.";
  if (call.glue_type == "GLUE_GROOVY") {
    message += " This executor has no JVM: make it a handler, or a script in another language.";
  }
  return Error{ErrorCode::kInvalidArgument, message};
}

Result<std::unique_ptr<JobWork>> JobWorks::make_script(const RunCall& call,
                                                       std::string_view language) const {
  if (!config_.scripts_refused.empty()) {
    return Error{ErrorCode::kDenied, "fail, current glue type [" + call.glue_type +
                                         "] not supported: " + config_.scripts_refused};
  }
  Interpreter interpreter = CARILLON_TRY(find_interpreter(language, environment_));
  ScriptFile file = CARILLON_TRY(scripts_.write(call.glue_source, interpreter.extension));
  interpreter.command.push_back(file.path());
  return std::make_unique<JobWork>(call, config_.app_name, config_.node, runner_, HandlerHooks{},
                                   std::optional<ScriptFile>{std::move(file)},
                                   std::move(interpreter.command));
}

}  // namespace carillon::tasktracker
