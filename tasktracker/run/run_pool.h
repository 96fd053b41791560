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
#include "tasktracker/run/runs.h"

namespace carillon::tasktracker {

struct RunPoolConfig {
  int threads = 1;                       // runs at a time
  std::size_t output_max = 1024 * 1024;  // bytes kept of one run's output
};

// The threads that run jobs.
//
// A mutex and no mailbox, because many threads take from the queue and the loop takes jobs out of
// its middle again. Each job costs a thread one locking: it leaves its result and takes the next
// job at once.
//
// Thread: the loop's. `wake` is called on any.
class RunPool final : public Runs {
 public:
  // The references must outlive the pool.
  RunPool(RunPoolConfig config, Runner& runner, const Clock& clock, std::function<void()> wake);
  // Stops everything at once and waits for it.
  ~RunPool() override;
  RunPool(const RunPool&) = delete;
  RunPool& operator=(const RunPool&) = delete;

  Status start();

  void add(std::vector<wire::HandedJob>&& jobs, SteadyTime begin_before) override;
  void close() override;
  std::vector<wire::AttemptId> take_back(std::optional<SteadyTime> older_than) override;
  Stopped stop(wire::AttemptId id, StopReason reason, const std::string& detail) override;
  void stop_all(StopReason reason, const std::string& detail, bool at_once) override;
  std::optional<SteadyTime> keep_time(SteadyTime now) override;
  void collect(PoolNews& news, bool running_output) override;
  std::vector<wire::AttemptId> waiting() const override;

 private:
  struct Queued {
    wire::HandedJob job{};
    SteadyTime since{};
    SteadyTime begin_before{};
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
