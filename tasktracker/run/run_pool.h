#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/mutex.h"
#include "shared/runtime/thread.h"
#include "tasktracker/run/run_control.h"
#include "tasktracker/run/runner.h"
#include "tasktracker/run/runs.h"

namespace carillon::tasktracker {

struct RunPoolConfig {
  int threads = 1;                                // runs at a time
  std::size_t output_max = 1024 * 1024;           // bytes kept of one run's output
  Duration kill_grace = std::chrono::seconds{5};  // of a handler that is told to stop
};

// The threads that run jobs.
//
// A mutex and no mailbox, because many threads take from the queue and the loop takes jobs out of
// its middle again. Each job costs a thread one locking: it leaves its result and takes the next
// job at once.
//
// A handler that does not stop within the grace is given up: its run ends without it, another
// thread takes the place of its own, and that one owns all that it touches from then on, so that it
// may outlive the pool. There are never more of them than threads in the pool; beyond that a
// handler keeps its thread and its run (docs/decisions/0032-handlers-that-do-not-stop.md).
//
// Thread: the loop's. `wake` is called on any.
class RunPool final : public Runs {
 public:
  // The references must outlive the pool.
  RunPool(RunPoolConfig config, Runner& runner, const Clock& clock, std::function<void()> wake);
  // Stops everything at once and waits for it, for handlers no longer than the grace.
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
  // The call of a handler.
  struct Call {
    const RunRequest& request;
    WallTime started_at{};
    SteadyTime begin{};
  };
  // What a thread runs in. The thread holds it, too, and alone once the pool has given it up.
  struct Slot {
    explicit Slot(const Clock& clock) : control(clock) {}
    RunControl control;
    // Guarded by the pool's mutex.
    bool running = false;
    bool is_said = false;  // that its handler cannot be given up
    wire::AttemptId id{};
    std::optional<SteadyTime> look_at{};  // it is told to stop then; if it was, given up
    // Whether a handler's run ends with it or without it.
    Mutex mutex{};
    const Call* call CARILLON_GUARDED_BY(mutex) = nullptr;  // under way, and not given up
    bool is_given_up CARILLON_GUARDED_BY(mutex) = false;
    bool has_returned CARILLON_GUARDED_BY(mutex) = false;  // given up, and its thread ends
  };
  struct Place {
    std::shared_ptr<Slot> slot{};
    std::unique_ptr<Thread> thread{};
  };
  // A handler that does not stop, for the log.
  struct Hanging {
    std::string task_id{};
    std::int64_t job_id = 0;
    std::string handler{};
    std::string why_kept{};  // empty: it was given up
  };

  Result<Place> start_thread(std::size_t number);
  void work_on(Slot& slot);
  std::optional<Ended> run_one(Slot& slot, wire::HandedJob&& job);
  void set_time_limit(Slot& slot, Duration timeout);
  std::stop_source tell(Slot& slot, StopReason reason, const std::string& detail, bool at_once);
  std::optional<Hanging> give_up(std::size_t number);
  void say(const Hanging& hanging) const;
  void join_returned();
  void await_runs();

  const RunPoolConfig config_;
  const Logger log_{"worker"};
  Runner& runner_;
  const Clock& clock_;
  const std::function<void()> wake_;

  mutable Mutex mutex_;
  Condition work_came_;
  Condition run_ended_;  // when the pool ends
  bool ending_ CARILLON_GUARDED_BY(mutex_) = false;
  bool closed_ CARILLON_GUARDED_BY(mutex_) = false;
  std::size_t idle_ CARILLON_GUARDED_BY(mutex_) = 0;
  std::size_t timed_ CARILLON_GUARDED_BY(mutex_) = 0;  // runs that are to be looked at
  std::deque<Queued> queue_ CARILLON_GUARDED_BY(mutex_){};
  PoolNews news_ CARILLON_GUARDED_BY(mutex_){};
  std::vector<Place> places_{};    // made by start()
  std::vector<Place> given_up_{};  // whose handlers have not returned, when last looked at
};

}  // namespace carillon::tasktracker
