#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/sizes.h"
#include "shared/net/transport.h"
#include "shared/runtime/task_runner.h"
#include "tasktracker/load_limiter.h"
#include "tasktracker/metrics/worker_metrics.h"
#include "tasktracker/run/deferred_runs.h"
#include "tasktracker/tracker_link.h"

namespace carillon::tasktracker {

struct WorkerConfig {
  FetcherConfig fetcher{};
  Duration kill_grace = std::chrono::seconds{5};  // grace time of a run after a stop request
  // Longest wait for a thread, before a job is returned.
  Duration give_back_after = std::chrono::milliseconds{100};
  Duration tick = std::chrono::milliseconds{50};    // interval of sending output while jobs run
  Duration deliver_wait = std::chrono::seconds{2};  // at the end, for confirmations
  Duration keep_wait = std::chrono::seconds{5};     // then for the disk
  Duration leave_wait = std::chrono::seconds{5};    // then for the answer to the sign-off
  bool stop_without_lease = false;                  // stops runs without a lease
  LoadLimits load{};                                // limits of the machine's load for taking jobs
};

// A whole task tracker except its adapters: runs jobs, communicates with its job tracker at the end
// of each turn of the loop, and shuts down in order.
//
// Thread: the loop; request_stop() any.
class Worker {
 public:
  struct Callbacks {
    std::function<void(const std::string& endpoint)> on_ready{};  // at each registration
    std::function<void()> on_stopped{};                           // once, the last callback
    std::function<void()> wake{};  // on any thread: requests a turn of the loop
    LoadLimiter::Read read_load = [] { return read_machine_load(); };
    WorkerMetrics* metrics = nullptr;  // must outlive the worker; or null
  };

  // The references must outlive the worker. `addresses`: of its job trackers.
  Worker(WorkerConfig config, Runs& runs, TaskRunner& task_runner, const Clock& clock,
         std::vector<TrackerAddress> addresses, ReportOutbox outbox, Callbacks callbacks);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // At the end of each turn of the loop: does all pending work.
  void end_turn();

  // Takes no more jobs and stops when its runs have ended, after `drain` at the latest; with no
  // time, runs are killed. A second request may only shorten the time.
  void request_stop(Duration drain);
  // After the stop: all job trackers that may have held jobs for it have confirmed its sign-off.
  bool has_left() const { return link_.has_left(); }
  // The sizes of everything that grows with its jobs.
  Sizes sizes() const;

 private:
  enum class Phase { kWorking, kDraining, kEnding, kDelivering, kLeaving, kStopped };

  void route_news(SteadyTime now);
  void give_back_old(SteadyTime now);
  void watch_lease(SteadyTime now);
  void obey_stop(SteadyTime now);
  void advance_stop(SteadyTime now);
  void enter(Phase phase, SteadyTime until);
  void set_timer(SteadyTime now);
  int unfinished() const { return link_.unfinished(); }

  const WorkerConfig config_;
  TaskRunner& task_runner_;
  const Clock& clock_;
  const Logger log_{"worker"};
  const Callbacks callbacks_;
  LoadLimiter load_;
  DeferredRuns runs_;
  TrackerLink link_;

  PoolNews news_{};  // reused to avoid allocations
  SteadyTime tick_at_{};
  std::optional<SteadyTime> runs_at_{};  // time of their next check
  std::optional<TimerId> timer_{};
  SteadyTime timer_at_{};

  Phase phase_ = Phase::kWorking;
  SteadyTime phase_until_{};
  std::atomic<std::int64_t> stop_wanted_us_{-1};  // -1: not requested
  std::int64_t stop_obeyed_us_ = -1;
};

}  // namespace carillon::tasktracker
