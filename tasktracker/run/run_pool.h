#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/mutex.h"
#include "shared/runtime/thread.h"
#include "tasktracker/run/run_control.h"
#include "tasktracker/run/runner.h"

namespace carillon::tasktracker {

struct RunPoolConfig {
  int threads = 1;                       // runs at a time
  std::size_t output_max = 1024 * 1024;  // bytes kept of one run's output
};

// A run that ended, with what it wrote since the last time somebody asked.
struct Ended {
  bool was_refused = false;  // of a kind that is not run here: nothing was started
  wire::RunResult result{};
  Duration run_time{};
};

// What came out of the pool since the last time. Output stands before the results of its runs.
struct PoolNews {
  std::vector<wire::OutputChunk> output{};
  std::vector<Ended> ended{};
};

// The threads that run jobs, and the jobs that wait for one of them, first come, first served. A
// job's description is still encoded, because a thread has more time to read it than the loop.
//
// A mutex and no mailbox, because many threads take from the queue and the loop takes jobs out of
// its middle again. Each job costs a thread one locking: it leaves its result and takes the next
// job at once.
//
// Thread: the loop's. `wake` is called on any.
class RunPool {
 public:
  // The references must outlive the pool.
  RunPool(RunPoolConfig config, Runner& runner, const Clock& clock, std::function<void()> wake);
  // Stops everything at once and waits for it.
  ~RunPool();
  RunPool(const RunPool&) = delete;
  RunPool& operator=(const RunPool&) = delete;

  Status start();

  // The jobs go to the end of the queue.
  void add(std::vector<wire::HandedJob>&& jobs);

  // From now on no thread begins another job.
  void close();

  // Takes out of the queue what came before `older_than`, or everything.
  std::vector<wire::AttemptId> take_back(std::optional<SteadyTime> older_than);

  // Takes that job out of the queue, or tells its run to stop. False: neither waits nor runs here.
  struct Stopped {
    bool was_waiting = false;
    bool was_running = false;
  };
  Stopped stop(wire::AttemptId id, StopReason reason, const std::string& detail);
  // Tells every run to stop.
  void stop_all(StopReason reason, const std::string& detail, bool at_once);

  // Stops runs whose time is over. Answers when to come again.
  std::optional<SteadyTime> stop_late_runs(SteadyTime now);

  // Moves what happened into `news`; with `running_output`, also what the running jobs have
  // written so far.
  void collect(PoolNews& news, bool running_output);

  // The jobs that wait, in order.
  std::vector<wire::AttemptId> waiting() const;

 private:
  struct Queued {
    wire::HandedJob job{};
    SteadyTime since{};
  };
  // One thread.
  struct Slot {
    explicit Slot(const Clock& clock) : control(clock) {}
    RunControl control;
    // Guarded by the pool's mutex.
    bool running = false;
    wire::AttemptId id{};
    std::optional<SteadyTime> stop_at{};
    std::unique_ptr<Thread> thread{};  // last: its end needs the rest
  };

  void work_on(Slot& slot);
  Ended run_one(Slot& slot, wire::HandedJob&& job);
  void set_time_limit(Slot& slot, Duration timeout);

  const RunPoolConfig config_;
  Runner& runner_;
  const Clock& clock_;
  const std::function<void()> wake_;

  mutable Mutex mutex_;
  Condition work_came_;
  bool ending_ CARILLON_GUARDED_BY(mutex_) = false;
  bool closed_ CARILLON_GUARDED_BY(mutex_) = false;
  std::size_t idle_ CARILLON_GUARDED_BY(mutex_) = 0;
  std::size_t time_limits_ CARILLON_GUARDED_BY(mutex_) = 0;  // runs that have one
  std::deque<Queued> queue_ CARILLON_GUARDED_BY(mutex_){};
  PoolNews news_ CARILLON_GUARDED_BY(mutex_){};
  std::vector<std::unique_ptr<Slot>> slots_;  // made by start(), then fixed
};

}  // namespace carillon::tasktracker
