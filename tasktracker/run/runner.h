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
#include "tasktracker/run/run_control.h"
#include "tasktracker/run/run_request.h"
#include "tasktracker/run/script.h"

namespace carillon::tasktracker {

using Handlers = std::map<std::string, JobRunner, std::less<>>;

// Of a word as --allow has them.
Result<RunKind> parse_run_kind(std::string_view word);

struct RunnerConfig {
  std::string node{};         // CARILLON_NODE
  std::string group{};        // CARILLON_GROUP
  std::set<RunKind> allow{};  // kinds of run that it accepts
  std::string data{};         // where scripts are kept while they run; empty: TMPDIR
  ProcessLimits process{};
};

// Runs one job, whatever its kind, from start to end. Every way in which it can go wrong is a
// RunEnd.
//
// Thread: any number at a time.
class Runner {
 public:
  // The references must outlive the runner.
  Runner(RunnerConfig config, const Handlers& handlers, const Environment& environment,
         const HttpSend& http, const Clock& clock);

  // Makes what processes need, if they are allowed.
  Status start();

  // What was handed out, decoded. An error is one of the job's, for good.
  Result<RunRequest> read(wire::HandedJob&& job) const;

  bool allows(const RunRequest& request) const { return config_.allow.contains(request.run.kind); }

  // Requires: it allows it. Once a handler has returned, nothing of this is touched: a run that was
  // given up may outlive it.
  RunEnd run(const RunRequest& request, RunControl& control);

  // How the run of a handler ends that was told to stop, and does not.
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
