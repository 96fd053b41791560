#include "tasktracker/run/runner.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "shared/base/assert.h"
#include "shared/base/nearest_word.h"
#include "shared/base/time_text.h"
#include "shared/wire/codec.h"
#include "shared/wire/spec_words.h"
#include "tasktracker/run/handler_run.h"
#include "tasktracker/run/run_environment.h"

namespace carillon::tasktracker {
namespace {

constexpr int kExitLater = 75;  // EX_TEMPFAIL of sysexits.h
constexpr int kExitFailed = 76;
constexpr int kExitNotRunnable = 126;  // the exit status of shells for this
constexpr int kExitNotFound = 127;
constexpr int kExitSignal = 128;
// Delay before a job is retried that a worker had no resources for.
constexpr Duration kRoomIsBack = std::chrono::seconds{5};
constexpr Duration kSayNoRoom = std::chrono::minutes{1};

RunEnd failed_for_good(std::string message) {
  return {.outcome = wire::RunOutcome::kFailed, .message = std::move(message)};
}

// The job is fine: its worker lacks memory, files or processes.
bool is_lack(int error) {
  static constexpr int kLacks[] = {EMFILE, ENFILE, ENOMEM, EAGAIN, ENOSPC, EDQUOT};
  return std::find(std::begin(kLacks), std::end(kLacks), error) != std::end(kLacks);
}

RunEnd has_no_room(const std::string& why) {
  return {.outcome = wire::RunOutcome::kLater,
          .message = why + " (its worker has too few resources, it runs later)",
          .later = kRoomIsBack,
          .has_no_room = true};
}

RunEnd not_started(const std::string& program, const ProcessEnd& end) {
  std::string message =
      "cannot " + end.step + " '" + program + "': " + std::strerror(end.not_started);
  if (is_lack(end.not_started)) return has_no_room(message);
  RunEnd result{.outcome = wire::RunOutcome::kException};
  if (end.not_started == ENOENT) {
    message += " (is it installed on this worker, and in its PATH?)";
    result.exit_code = kExitNotFound;
  } else if (end.not_started == EACCES || end.not_started == ENOEXEC) {
    message += " (is it executable for the worker's user?)";
    result.exit_code = kExitNotRunnable;
  } else if (end.not_started == E2BIG) {
    message += " (arguments and params together exceed the system's limit)";
  }
  result.message = std::move(message);
  return result;
}

std::string with_last_line(std::string message, const std::string& line) {
  return line.empty() ? message : std::move(message) + ": " + line;
}

RunEnd to_end(const std::string& program, const ProcessEnd& end, Duration later_delay) {
  if (end.came_late) return {.came_late = true};
  if (end.not_started != 0) return not_started(program, end);
  if (end.signal != 0) {
    const char* name = ::sigdescr_np(end.signal);
    return {.outcome = wire::RunOutcome::kException,
            .exit_code = kExitSignal + end.signal,
            .message = with_last_line("killed by signal " + std::to_string(end.signal) + " (" +
                                          (name == nullptr ? "unknown" : name) + ")",
                                      end.last_error_line)};
  }
  RunEnd result{.exit_code = end.exit_status};
  if (end.exit_status == 0) return result;
  result.message =
      with_last_line("exit status " + std::to_string(end.exit_status), end.last_error_line);
  if (end.exit_status == kExitLater) {
    result.outcome = wire::RunOutcome::kLater;
    result.later = later_delay;
  } else {
    result.outcome =
        end.exit_status == kExitFailed ? wire::RunOutcome::kFailed : wire::RunOutcome::kException;
  }
  return result;
}

// Converts the end of a run with a stop request.
void apply_stop(const RunControl& control, const RunRequest& request, RunEnd& end) {
  // An exit status of 0 would look like a success.
  const auto hide_success = [&end] {
    if (end.exit_code == 0) end.exit_code.reset();
  };
  switch (control.reason()) {
    case StopReason::kNone:
      return;
    case StopReason::kTimedOut:
      end.outcome = wire::RunOutcome::kTimedOut;
      end.message = "timed out after " + format_duration(request.timeout);
      hide_success();
      return;
    case StopReason::kKilled:
      end.outcome = wire::RunOutcome::kKilled;
      end.message = control.detail();
      hide_success();
      return;
    case StopReason::kShutdown:
    case StopReason::kLeaseEnded:
      // A handler that succeeded in spite of it is believed; the exit of a process after SIGTERM
      // proves nothing.
      if (request.run.kind == RunKind::kHandler && end.outcome != wire::RunOutcome::kException) {
        return;
      }
      end.outcome = wire::RunOutcome::kLater;
      end.later = Duration{};
      end.message = control.detail();
      hide_success();
      return;
  }
}

}  // namespace

Result<RunKind> parse_run_kind(std::string_view word) {
  for (const auto& [known, kind] : wire::kRunWords) {
    if (known == word) return kind;
  }
  return Error{ErrorCode::kInvalidArgument,
               "'" + std::string{word} +
                   "' is not a kind of job (write handler, command, shell, script or http)"};
}

Runner::Runner(RunnerConfig config, const Handlers& handlers, const Environment& environment,
               const HttpSend& http, const Clock& clock)
    : config_(std::move(config)),
      handlers_(handlers),
      environment_(environment),
      http_(http),
      clock_(clock),
      scripts_(config_.data, environment, config_.run_as) {}

Status Runner::start() {
  for (const RunKind kind : {RunKind::kCommand, RunKind::kShell, RunKind::kScript}) {
    if (config_.allow.contains(kind)) return guard_.start();
  }
  return {};
}

Result<RunRequest> Runner::read(wire::HandedJob&& job) const {
  JobSpec spec = CARILLON_TRY(wire::decode_spec(job.spec));
  return RunRequest{.job = {.task_id = std::move(job.task_id),
                            .job_id = job.id.job_id,
                            .attempt = job.id.attempt,
                            .group = config_.group,
                            .node = config_.node,
                            .trigger_time = job.trigger_time,
                            .params = std::move(spec.params),
                            .payload = std::move(spec.payload),
                            .traceparent = std::move(spec.traceparent)},
                    .run = std::move(spec.run),
                    .timeout = spec.timeout,
                    .later_delay = spec.retries.base};
}

RunEnd Runner::run(const RunRequest& request, RunControl& control) {
  CARILLON_ASSERT(allows(request), "a job of another kind is returned");
  RunEnd end;
  switch (request.run.kind) {
    case RunKind::kHandler:
      end = run_handler(request, control);
      break;
    case RunKind::kCommand:
      end = run_command(request, request.run.command, control);
      break;
    case RunKind::kShell:
      end = run_command(request, {"/bin/sh", "-c", request.run.shell}, control);
      break;
    case RunKind::kScript:
      end = run_script(request, control);
      break;
    case RunKind::kHttp:
      end = run_http(http_, request, control);
      break;
  }
  apply_stop(control, request, end);
  if (end.has_no_room) say_no_room(end.message);
  return end;
}

void Runner::say_no_room(const std::string& why) {
  const SteadyTime now = clock_.steady_now();
  const MutexLock lock(mutex_);
  if (said_no_room_ && now < *said_no_room_ + kSayNoRoom) return;
  said_no_room_ = now;
  log_.warn("cannot start jobs here; they run later", "reason", why);
}

RunEnd Runner::end_without(const RunRequest& request, const RunControl& control) const {
  RunEnd end{.outcome = wire::RunOutcome::kException};
  apply_stop(control, request, end);
  end.message += "; handler '" + request.run.handler +
                 "' has not stopped after its stop request, so its thread is lost to worker '" +
                 config_.node + "' until it stops";
  return end;
}

RunEnd Runner::run_handler(const RunRequest& request, RunControl& control) const {
  const auto found = handlers_.find(request.run.handler);
  if (found != handlers_.end()) {
    const JobRunner kept = found->second;  // It may run longer than the handlers live.
    return tasktracker::run_handler(kept, request.job, control);
  }
  std::vector<std::string> known;
  std::string list;
  for (const auto& [name, runner] : handlers_) {
    known.push_back(name);
    list += list.empty() ? "" : " ";
    list += name;
  }
  return {.outcome = wire::RunOutcome::kException,
          .message = "no handler '" + request.run.handler + "' on worker '" + config_.node + "'" +
                     did_you_mean(request.run.handler, known) +
                     (list.empty() ? ", it has none" : ", it has: " + list)};
}

RunEnd Runner::run_script(const RunRequest& request, RunControl& control) {
  const Result<Interpreter> interpreter =
      find_interpreter(request.run.script_language, environment_);
  if (!interpreter.ok()) {
    return {.outcome = wire::RunOutcome::kException,
            .exit_code = kExitNotFound,
            .message = interpreter.error().message};
  }
  const Result<ScriptFile> file =
      scripts_.write(request.run.script_source, interpreter.value().extension);
  if (!file.ok()) return has_no_room(file.error().message);
  std::vector<std::string> command = interpreter.value().command;
  command.push_back(file.value().path());
  return run_command(request, std::move(command), control);
}

RunEnd Runner::run_command(const RunRequest& request, std::vector<std::string> command,
                           RunControl& control) {
  if (command.empty() || command.front().empty()) {
    return failed_for_good("the job's command is empty");
  }
  const ProcessRequest process{.arguments = std::move(command),
                               .environment = run_environment(environment_, request.job),
                               .input = request.job.payload,
                               .run_as = config_.run_as ? &*config_.run_as : nullptr};
  const ProcessEnd end = run_process(process, config_.process, control, guard_, clock_);
  return to_end(process.arguments.front(), end, request.later_delay);
}

}  // namespace carillon::tasktracker
