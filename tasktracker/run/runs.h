#pragma once

#include <optional>
#include <string>
#include <vector>

#include "carillon/time.h"
#include "shared/wire/messages.h"
#include "tasktracker/run/run_control.h"

namespace carillon::tasktracker {

// A run that ended, with its output since the last call.
struct Ended {
  bool was_refused = false;  // a kind that is not accepted: it did not start
  bool came_late = false;    // the job may be on another worker: it did not start
  wire::RunResult result{};
  Duration run_time{};
};

// Events since the last call. Output precedes the results of its runs.
struct PoolNews {
  std::vector<wire::OutputChunk> output{};
  std::vector<Ended> ended{};
};

// Runs a worker's jobs, and queues waiting ones in order. Job descriptions stay encoded: the run's
// thread decodes them, not the loop.
//
// Thread: the loop's.
class Runs {
 public:
  virtual ~Runs() = default;

  // Queues the jobs, when their time has come. None starts after `begin_before`.
  virtual void add(std::vector<wire::HandedJob>&& jobs, SteadyTime begin_before) = 0;

  // No more jobs start.
  virtual void close() = 0;

  // Removes the jobs that were queued before `older_than`, or all, from the queue.
  virtual std::vector<wire::AttemptId> reclaim(std::optional<SteadyTime> older_than) = 0;

  // Removes the job from the queue, or requests the stop of its run. False: it is not here.
  struct Stopped {
    bool was_waiting = false;
    bool was_early = false;  // its time had not come
    bool was_running = false;
  };
  virtual Stopped stop(wire::AttemptId id, StopReason reason, const std::string& detail) = 0;
  // Requests the stop of all runs.
  virtual void stop_all(StopReason reason, const std::string& detail, bool at_once) = 0;

  // Stops timed-out runs, and starts jobs whose time has come. Returns when to call again.
  virtual std::optional<SteadyTime> keep_time(SteadyTime now) = 0;

  // Moves events into `news`; with `running_output` also the current output of running jobs.
  virtual void collect(PoolNews& news, bool running_output) = 0;

  // The waiting jobs, in order.
  virtual std::vector<wire::AttemptId> waiting() const = 0;
};

}  // namespace carillon::tasktracker
