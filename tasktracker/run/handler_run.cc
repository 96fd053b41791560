#include "tasktracker/run/handler_run.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include <poll.h>

namespace carillon::tasktracker {
namespace {

constexpr Duration kLaterMin = std::chrono::milliseconds{100};
constexpr Duration kLaterMax = std::chrono::hours{100 * 365 * 24};  // limit of the message's field

class Context final : public JobContext {
 public:
  Context(const JobInfo& job, RunControl& control) : job_(job), control_(control) {}

  const JobInfo& job() const override { return job_; }

  void log(std::string_view line) override {
    std::string text{line};
    text += '\n';
    control_.output().append(wire::Stream::kLog, text);
  }

  void write(std::string_view bytes) override {
    control_.output().append(wire::Stream::kStdout, bytes);
  }

  std::stop_token stop_token() const override { return control_.stop_token(); }

  bool wait(Duration duration) override {
    if (control_.reason() != StopReason::kNone) return false;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(std::max(duration, Duration{0}));
    const std::chrono::nanoseconds rest = std::max(duration, Duration{0}) - seconds;
    const timespec longest{.tv_sec = seconds.count(), .tv_nsec = rest.count()};
    pollfd waiting{.fd = control_.wakeup().fd(), .events = POLLIN, .revents = 0};
    ::ppoll(&waiting, 1, &longest, nullptr);  // Threads of the pool receive no signals.
    return control_.reason() == StopReason::kNone;
  }

 private:
  const JobInfo& job_;
  RunControl& control_;
};

RunEnd to_end(RunReport&& report) {
  switch (report.verdict) {
    case RunVerdict::kSucceeded:
      return {.outcome = wire::RunOutcome::kSucceeded, .message = std::move(report.message)};
    case RunVerdict::kFailed:
      return {.outcome = wire::RunOutcome::kFailed, .message = std::move(report.message)};
    case RunVerdict::kLater:
      return {.outcome = wire::RunOutcome::kLater,
              .message = std::move(report.message),
              .later = std::clamp(report.delay, kLaterMin, kLaterMax)};
    case RunVerdict::kException:
      break;
  }
  return {.outcome = wire::RunOutcome::kException, .message = std::move(report.message)};
}

// The only place that catches exceptions of user functions.
RunEnd call(const JobRunner& runner, JobContext& context) {
  try {
    return to_end(runner(context));
  } catch (const std::exception& thrown) {
    return {.outcome = wire::RunOutcome::kException,
            .message = std::string{"the handler threw: "} + thrown.what()};
  } catch (...) {
    return {.outcome = wire::RunOutcome::kException,
            .message = "the handler threw something that is not a std::exception"};
  }
}

}  // namespace

RunEnd run_handler(const JobRunner& runner, const JobInfo& job, RunControl& control) {
  Context context(job, control);
  return call(runner, context);
}

}  // namespace carillon::tasktracker
