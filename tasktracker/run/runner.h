#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "carillon/job_runner.h"
#include "shared/base/clock.h"
#include "shared/base/environment.h"
#include "shared/base/log.h"
#include "shared/base/mutex.h"
#include "tasktracker/run/group_guard.h"
#include "tasktracker/run/http_run.h"
#include "tasktracker/run/process.h"
#include "tasktracker/run/run_as.h"
#include "tasktracker/run/run_control.h"
#include "tasktracker/run/run_request.h"
#include "tasktracker/run/script.h"

namespace carillon::tasktracker {

using Handlers = std::map<std::string, JobRunner, std::less<>>;

// Parses a word of --allow.
Result<RunKind> parse_run_kind(std::string_view word);

struct RunnerConfig {
  std::string node{};             // CARILLON_NODE
  std::string group{};            // CARILLON_GROUP
  std::set<RunKind> allow{};      // accepted kinds of jobs
  std::string data{};             // folder for running scripts, see ScriptFolder
  std::optional<RunAs> run_as{};  // user of commands, shell lines and scripts; none: this one
  ProcessLimits process{};
};

// Runs one job of any kind from start to end. Each failure is a RunEnd.
//
// Thread: any number at a time.
class Runner {
 public:
  // The references must outlive the runner.
  Runner(RunnerConfig config, const Handlers& handlers, const Environment& environment,
         const HttpSend& http, const Clock& clock);

  // Prepares what processes need, if they are allowed.
  Status start();

  // Decodes a job. An error is permanent.
  Result<RunRequest> read(wire::HandedJob&& job) const;

  bool allows(const RunRequest& request) const { return config_.allow.contains(request.run.kind); }

  // Requires: the kind is allowed. After a handler has returned, this object is not used: a run
  // that was given up may outlive it.
  RunEnd run(const RunRequest& request, RunControl& control);

  // The end of a handler's run that does not stop after its stop request.
  RunEnd end_without(const RunRequest& request, const RunControl& control) const;

 private:
  RunEnd run_handler(const RunRequest& request, RunControl& control) const;
  RunEnd run_script(const RunRequest& request, RunControl& control);
  RunEnd run_command(const RunRequest& request, std::vector<std::string> command,
                     RunControl& control);
  void say_no_room(const std::string& why);

  const Logger log_{"worker"};
  const RunnerConfig config_;
  const Handlers& handlers_;
  const Environment& environment_;
  const HttpSend& http_;
  const Clock& clock_;
  GroupGuard guard_;
  ScriptFolder scripts_;
  Mutex mutex_;
  std::optional<SteadyTime> said_no_room_ CARILLON_GUARDED_BY(mutex_);
};

}  // namespace carillon::tasktracker
