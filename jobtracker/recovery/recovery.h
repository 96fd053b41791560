#pragma once

#include <unordered_map>
#include <utility>

#include "jobtracker/state/attempt_reclaimer.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/workers.h"
#include "jobtracker/store/partitions.h"
#include "jobtracker/store/reads.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

struct RecoveryConfig {
  // A task tracker without a heartbeat for this time counts as dead, and its jobs run elsewhere.
  // Shorter recovers faster; longer tolerates slow networks.
  Duration lease = std::chrono::seconds{3};
};

// Finds jobs whose task tracker is dead, or does not have them, and requeues them.
//
// - The pulls of a worker are its heartbeats. After a lease without one, its session ends; jobs
//   that were sent to it are lost and run again as new attempts, without counting a failure.
// - After a restart of the job tracker, executing jobs wait for their worker to register again. The
//   worker keeps the jobs that it holds. Jobs that it does not hold never reached it and are
//   requeued immediately, for a group in partitions with its next list. A worker without a
//   heartbeat for a lease is dead then, too. The next session of the same process inherits the
//   times of the last heartbeats for the jobs that the previous session owned.
// - Another session may have granted a longer lease. While such a lease may be valid, no task
//   tracker is declared dead before that lease would have ended.
// - After a stall of the job tracker itself, each task tracker gets a new full lease.
// - A worker's list of jobs covers the hand-outs that it had received, and those that were sent
//   before a message that has arrived: the answer to a later pull. The age of a hand-out proves
//   nothing, because the list may be as old.
// - Pushed jobs are not handled here.
//
// Thread: the loop.
class Recovery {
 public:
  Recovery(RecoveryConfig config, ExecutingTable& executing, Workers& workers,
           AttemptReclaimer& ends, SchedulingClock& clock, const Logger& log);

  // How long each task tracker has been silent, for the next session of this process. For jobs that
  // another job tracker owned, it is unknown.
  struct Silences {
    std::unordered_map<SessionId, Duration> of{};
    Partitions owned{};
  };
  Silences silences(SteadyTime by, const Partitions& owned) const;
  // Call it before start().
  void go_on_from(Silences silences) { silences_ = std::move(silences); }

  // After a restart.
  void start(const StartAnswer& found);

  // A worker lists all jobs that it held when it had received this hand-out and the answer to this
  // pull.
  void reconcile(const Worker& worker, std::int64_t handout_seen, std::int64_t answered,
                 const std::vector<wire::Held>& holding);

  // A session that has not registered again is alive.
  void heard(SessionId session);

  // Called every 100 ms. Returns the task trackers that were found dead; they are removed from the
  // workers.
  std::vector<Worker> run_once();

  // The worker leaves, and holds no jobs.
  void leave(SessionId session);

  // The longest lease that may be valid, whichever session granted it.
  Duration longest_lease() const { return lease(clock_.steady_now()); }

  // A task tracker with jobs may be dead. The next owner of its jobs would have to wait a whole
  // lease again.
  bool awaits_silent() const;

  std::int64_t workers_lost() const { return workers_lost_; }
  Sizes sizes() const { return {{"orphans", orphans_.size()}}; }

 private:
  Duration lease(SteadyTime now) const;
  void forgive_own_stall(SteadyTime now);
  void take_back_all(SessionId session, bool lost);

  RecoveryConfig config_;
  ExecutingTable& executing_;
  Workers& workers_;
  AttemptReclaimer& ends_;
  SchedulingClock& clock_;
  const Logger& log_;
  // Sessions with jobs but without a worker, and since when.
  std::unordered_map<SessionId, SteadyTime> orphans_;
  Silences silences_;          // of the previous session
  SteadyTime ran_at_{};        // last call of run_once()
  Duration before_{};          // the longest lease that earlier sessions may have granted
  SteadyTime before_until_{};  // when none of those is valid any more
  std::int64_t workers_lost_ = 0;
};

}  // namespace carillon::jobtracker
