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
  int threads = 1;                                // most concurrent runs
  std::size_t output_max = 1024 * 1024;           // limit for one run's output
  Duration kill_grace = std::chrono::seconds{5};  // after a stop request for a handler
};

// The threads that run jobs.
//
// Uses a mutex instead of a mailbox, because many threads take from the queue, and the loop removes
// jobs from its middle. A job costs its thread one lock: it stores its result and takes the next
// job together.
//
// A handler that does not stop within the grace time is given up: its run ends without it, and
// another thread replaces its thread. The old thread owns all its data from then on and may outlive
// the pool. There are at most as many such threads as threads in the pool; beyond that, a handler
// keeps its thread and its run (docs/decisions/0032-handlers-that-do-not-stop.md).
//
// Thread: the loop. `wake` is called on any thread.
class RunPool final : public Runs {
 public:
  // The references must outlive the pool.
  RunPool(RunPoolConfig config, Runner& runner, const Clock& clock, std::function<void()> wake);
  // Stops everything immediately and waits for it; for handlers only during the grace time.
  ~RunPool() override;
  RunPool(const RunPool&) = delete;
  RunPool& operator=(const RunPool&) = delete;

  Status start();

  void add(std::vector<wire::HandedJob>&& jobs, SteadyTime begin_before) override;
  void close() override;
  std::vector<wire::AttemptId> reclaim(std::optional<SteadyTime> older_than) override;
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
  // A call of a handler.
  struct Call {
    const RunRequest& request;
    WallTime started_at{};
    SteadyTime begin{};
  };
  // The state of one thread. The thread shares its ownership, and owns it alone after the pool has
  // given it up.
  struct Slot {
    explicit Slot(const Clock& clock) : control(clock) {}
    RunControl control;
    // Guarded by the pool's mutex.
    bool running = false;
    bool is_said = false;  // logged that its handler cannot be given up
    wire::AttemptId id{};
    // Time of its time-out, or of giving it up after a stop request.
    std::optional<SteadyTime> look_at{};
    // Decides whether a handler's run ends with or without it.
    Mutex mutex{};
    const Call* call CARILLON_GUARDED_BY(mutex) = nullptr;  // in progress, and not given up
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
  std::size_t timed_ CARILLON_GUARDED_BY(mutex_) = 0;  // runs with a time to check
  std::deque<Queued> queue_ CARILLON_GUARDED_BY(mutex_){};
  PoolNews news_ CARILLON_GUARDED_BY(mutex_){};
  std::vector<Place> places_{};    // created by start()
  std::vector<Place> given_up_{};  // whose handlers had not returned at the last check
};

}  // namespace carillon::tasktracker
