#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "carillon/ids.h"
#include "carillon/result.h"
#include "carillon/time.h"

// The interface for handlers: C++ functions that run jobs by handler name.
namespace carillon {

// The job of one run.
struct JobInfo {
  std::string task_id{};
  JobId job_id{};
  int attempt = 0;  // raised by each hand-out, retries included
  std::string group{};
  std::string node{};       // the name of this task tracker
  WallTime trigger_time{};  // planned time of the job; the same for each attempt
  std::map<std::string, std::string> params{};
  std::string payload{};
  std::string traceparent{};  // W3C trace context of the job's submission; empty: none
  // Index of this shard, from 0, and number of shards. 0 of 1 for a job without shards.
  int shard_index = 0;
  int shard_total = 1;
};

// The context of one run. Valid until the runner returns, even if the run ended before. Thread:
// any.
class JobContext {
 public:
  virtual ~JobContext() = default;

  virtual const JobInfo& job() const = 0;

  // Appends a line to the job's output; `jobclient logs` shows it within a second.
  virtual void log(std::string_view line) = 0;
  // Appends bytes to the job's output, without a line end.
  virtual void write(std::string_view bytes) = 0;

  // Requests a stop: the run timed out, was killed, or the worker is shutting down. A runner is
  // never interrupted otherwise. If it does not return within TaskTrackerOptions::kill_grace, its
  // run ends without it: the runner continues, its results are dropped, and the job may run again
  // at the same time. Such a runner blocks its thread; a replacement thread takes its place. The
  // number of replacements is limited to the number of threads; beyond it, such runs do not end.
  virtual std::stop_token stop_token() const = 0;
  bool is_stopping() const { return stop_token().stop_requested(); }

  // Waits for `duration`, or until a stop is requested; then returns false.
  virtual bool wait(Duration duration) = 0;

  // The parameter of that name, or nothing.
  std::optional<std::string> param(const std::string& name) const {
    const auto found = job().params.find(name);
    if (found == job().params.end()) return std::nullopt;
    return found->second;
  }
};

enum class RunVerdict : int {
  kSucceeded = 0,
  kFailed = 1,     // failed without further retries
  kException = 2,  // a failure; retried while retries remain
  kLater = 3,      // run again after `delay`; does not count as a failure
};

// The result of a run. Messages are cut to 4 KiB.
struct RunReport {
  RunVerdict verdict = RunVerdict::kSucceeded;
  std::string message{};
  Duration delay{};  // for kLater: 100 ms to 100 years

  static RunReport succeeded(std::string message = {}) {
    return {RunVerdict::kSucceeded, std::move(message), {}};
  }
  static RunReport failed(std::string message) {
    return {RunVerdict::kFailed, std::move(message), {}};
  }
  static RunReport exception(std::string message) {
    return {RunVerdict::kException, std::move(message), {}};
  }
  static RunReport later(Duration delay, std::string message = {}) {
    return {RunVerdict::kLater, std::move(message), delay};
  }
};

// Runs one job. Called concurrently on several threads of the task tracker; it must synchronize
// access to shared data. An exception becomes RunReport::exception(what()), so a faulty handler
// does not stop the worker.
using JobRunner = std::function<RunReport(JobContext& context)>;

// Hooks of a handler under an xxl-job admin. Each job has its own thread there, until it has been
// idle for 90 seconds. The hooks run on that thread; exceptions are caught. Either may be empty.
struct HandlerHooks {
  std::function<Status()> init{};   // before the first run, which fails with this error
  std::function<void()> destroy{};  // after the last run, if init succeeded
};

}  // namespace carillon
