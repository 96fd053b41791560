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

// What a program writes to run jobs itself: one function for each handler name.
namespace carillon {

// The job that a runner was called for.
struct JobInfo {
  std::string task_id{};
  JobId job_id{};
  int attempt = 0;  // raised each time the job is handed out, retries included
  std::string group{};
  std::string node{};       // the name of this task tracker
  WallTime trigger_time{};  // for when it was; the same for every attempt
  std::map<std::string, std::string> params{};
  std::string payload{};
  // Which part of the job this run is, from 0, and of how many; 0 of 1 where it is not divided.
  int shard_index = 0;
  int shard_total = 1;
};

// What one run sees of the world. Lives until the runner returns, also when its run ended before.
// Thread: any.
class JobContext {
 public:
  virtual ~JobContext() = default;

  virtual const JobInfo& job() const = 0;

  // Keeps a line with the job's output; `jobclient logs` shows it within a second.
  virtual void log(std::string_view line) = 0;
  // The same for bytes as they are, without an end of line.
  virtual void write(std::string_view bytes) = 0;

  // Requested when the run shall end: its time-out has passed, somebody kills the job, or this
  // worker shuts down. Nothing else ends a runner. The run of one that has not returned within
  // TaskTrackerOptions::kill_grace ends without it: it goes on by itself, whatever it says is
  // dropped, and the job may run again meanwhile. A task tracker loses as many threads to such
  // runners as it has; beyond that they keep their runs.
  virtual std::stop_token stop_token() const = 0;
  bool is_stopping() const { return stop_token().stop_requested(); }

  // Waits, but no longer than until the run shall end; false: it shall end.
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
  kFailed = 1,     // for good, whatever retries remain
  kException = 2,  // counts as a failure; tried again while retries remain
  kLater = 3,      // again after a while; no failure counted
};

// How a run ended, as its runner says. Messages are cut to 4 KiB.
struct RunReport {
  RunVerdict verdict = RunVerdict::kSucceeded;
  std::string message{};
  Duration delay{};  // kLater: 100 ms to 100 years are waited

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

// Runs one job. Called on one of the task tracker's threads, on several at the same time, so what
// it shares with others is its own to guard. Whatever it throws becomes
// RunReport::exception(what()): a bad handler never ends the worker.
using JobRunner = std::function<RunReport(JobContext& context)>;

// What surrounds a handler's runs under an xxl-job admin, where each job has a thread of its own
// until it has had nothing to do for 90 seconds. Either may be left out. They are called on that
// thread; what they throw is caught.
struct HandlerHooks {
  std::function<Status()> init{};   // before the first run, which fails with its error
  std::function<void()> destroy{};  // after the last one, if init succeeded
};

}  // namespace carillon
