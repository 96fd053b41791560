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
#include "shared/runtime/executor.h"
#include "tasktracker/load_gate.h"
#include "tasktracker/run/deferred_runs.h"
#include "tasktracker/tracker_link.h"

namespace carillon::tasktracker {

struct WorkerConfig {
  FetcherConfig fetcher{};
  Duration kill_grace = std::chrono::seconds{5};  // what a run gets that is told to stop
  Duration give_back_after = std::chrono::milliseconds{100};  // waiting here for a thread
  Duration tick = std::chrono::milliseconds{50};              // while jobs run: their output
  Duration deliver_wait = std::chrono::seconds{2};            // at the end, for confirmations
  Duration keep_wait = std::chrono::seconds{5};               // and then for the disk
  Duration leave_wait = std::chrono::seconds{5};              // and for the answer to the goodbye
  bool stop_without_lease = false;                            // what runs
  LoadLimits load{};                                          // of the machine, for taking jobs
};

// The whole of a task tracker but its adapters: has jobs run, talks with its job tracker at the end
// of each turn of the loop, and ends in good order.
//
// Thread: the loop, but request_stop() any.
class Worker {
 public:
  struct Callbacks {
    std::function<void(const std::string& endpoint)> on_ready{};  // at every registration
    std::function<void()> on_stopped{};                           // once, the last call
    std::function<void()> wake{};  // on any thread: asks for a turn of the loop
    LoadGate::Read read_load = [] { return read_machine_load(); };
  };

  // The references must outlive the worker. `addresses`: where its job tracker may be.
  Worker(WorkerConfig config, Runs& runs, Executor& executor, const Clock& clock,
         std::vector<TrackerAddress> addresses, ReportOutbox outbox, Callbacks callbacks);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // At the end of every turn of the loop: does what is to do by now.
  void end_turn();

  // Takes nothing new and ends when what runs has ended, after `drain` at the latest; no time at
  // all means that runs are killed. A second request may only shorten the time.
  void request_stop(Duration drain);
  // Once it has stopped: everyone who may have held jobs for it knew that before.
  bool has_left() const { return link_.has_left(); }
  // Of everything that grows with its jobs.
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
  Executor& executor_;
  const Clock& clock_;
  const Logger log_{"worker"};
  const Callbacks callbacks_;
  LoadGate load_;
  DeferredRuns runs_;
  TrackerLink link_;

  PoolNews news_{};  // kept for its memory
  SteadyTime tick_at_{};
  std::optional<SteadyTime> runs_at_{};  // when they are to be looked at again
  std::optional<TimerId> timer_{};
  SteadyTime timer_at_{};

  Phase phase_ = Phase::kWorking;
  SteadyTime phase_until_{};
  std::atomic<std::int64_t> stop_wanted_us_{-1};  // -1: not asked for
  std::int64_t stop_obeyed_us_ = -1;
};

}  // namespace carillon::tasktracker
