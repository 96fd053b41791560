#pragma once

#include <optional>
#include <string>
#include <vector>

#include "carillon/time.h"
#include "shared/wire/messages.h"
#include "tasktracker/run/run_control.h"

namespace carillon::tasktracker {

// A run that ended, with what it wrote since the last time somebody asked.
struct Ended {
  bool was_refused = false;  // of a kind that is not run here: nothing was started
  bool came_late = false;    // somebody else may have the job by now: likewise
  wire::RunResult result{};
  Duration run_time{};
};

// What came out of the runs since the last time. Output stands before the results of its runs.
struct PoolNews {
  std::vector<wire::OutputChunk> output{};
  std::vector<Ended> ended{};
};

// Where a worker's jobs run, and wait for a place to run, first come, first served. A job's
// description is still encoded, because whoever runs it has more time to read it than the loop.
//
// Thread: the loop's.
class Runs {
 public:
  virtual ~Runs() = default;

  // The jobs go to the end of the queue, once their time has come. From `begin_before` on none of
  // them begins any more.
  virtual void add(std::vector<wire::HandedJob>&& jobs, SteadyTime begin_before) = 0;

  // From now on no other job begins.
  virtual void close() = 0;

  // Takes out of the queue what came before `older_than`, or everything.
  virtual std::vector<wire::AttemptId> take_back(std::optional<SteadyTime> older_than) = 0;

  // Takes that job out of the queue, or tells its run to stop. False: neither waits nor runs here.
  struct Stopped {
    bool was_waiting = false;
    bool was_early = false;  // for its time
    bool was_running = false;
  };
  virtual Stopped stop(wire::AttemptId id, StopReason reason, const std::string& detail) = 0;
  // Tells every run to stop.
  virtual void stop_all(StopReason reason, const std::string& detail, bool at_once) = 0;

  // Stops runs whose time is over, and has jobs begin whose time has come. Answers when to come
  // again.
  virtual std::optional<SteadyTime> keep_time(SteadyTime now) = 0;

  // Moves what happened into `news`; with `running_output`, also what the running jobs have
  // written so far.
  virtual void collect(PoolNews& news, bool running_output) = 0;

  // The jobs that wait, in order.
  virtual std::vector<wire::AttemptId> waiting() const = 0;
};

}  // namespace carillon::tasktracker
