#pragma once

#include <unordered_map>
#include <utility>

#include "jobtracker/state/executing.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/take_back.h"
#include "jobtracker/state/workers.h"
#include "jobtracker/store/partitions.h"
#include "jobtracker/store/reads.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

struct RecoveryConfig {
  // A task tracker not heard of for so long is dead, and its jobs run elsewhere. Shorter recovers
  // faster; longer forgives slow networks.
  Duration lease = std::chrono::seconds{3};
};

// Finds jobs whose task tracker is gone, or does not have them, and takes them back.
//
//  - A worker is heard of by its pulls. Silent for a lease: its session ends, what was sent to it
//    is lost and runs again as a new attempt, without counting a failure.
//  - After a restart of the job tracker, what is executing waits for its worker to register again.
//    It adopts what it holds; what it does not hold never reached it and goes back at once, of a
//    group in parts with its next list. A worker that is not heard of for a lease is dead, then as
//    well. The next session of the same process has not forgotten when it was heard of last, and
//    goes by that for the jobs which that one looked after.
//  - A lease that another session gave may be longer. As long as such a one may be valid, nobody is
//    dead before it would have ended.
//  - A job tracker that itself stood still (suspended, or without a processor) gives everybody a
//    whole lease before it calls anyone dead.
//  - A list of what a worker holds speaks of the hand-outs that it had seen by then, and of those
//    that were sent before something else that had arrived: the answer to a later pull. How long
//    ago a hand-out was sent says nothing, for the list may be as old.
//  - What is pushed to executors is none of its business.
//
// Thread: the loop.
class Recovery {
 public:
  Recovery(RecoveryConfig config, ExecutingTable& executing, Workers& workers, TakeBack& ends,
           SchedulingClock& clock, const Logger& log);

  // For how long each was silent by then, for the next session of this process. Whose jobs another
  // job tracker looked after may have been heard by that one.
  struct Silences {
    std::unordered_map<SessionId, Duration> of{};
    Partitions owned{};
  };
  Silences silences(SteadyTime by, const Partitions& owned) const;
  // Before start().
  void go_on_from(Silences silences) { silences_ = std::move(silences); }

  // After a restart.
  void start(const StartAnswer& found);

  // The worker says all that it held when it had seen that hand-out, and the answer to that pull.
  void reconcile(const Worker& worker, std::int64_t handout_seen, std::int64_t answered,
                 const std::vector<wire::Held>& holding);

  // One who has yet to register again lives.
  void heard(SessionId session);

  // Called each 100 ms. The task trackers that were found dead; they are erased from the workers.
  std::vector<Worker> run_once();

  // The worker goes, and holds nothing.
  void leave(SessionId session);

  // Of those that may be valid, whoever gave them.
  Duration longest_lease() const { return lease(clock_.steady_now()); }

  // Somebody who has jobs may be dead. Whoever looks after them next would have to wait for that
  // from the start.
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
  TakeBack& ends_;
  SchedulingClock& clock_;
  const Logger& log_;
  // Sessions with jobs, but without a worker: since when.
  std::unordered_map<SessionId, SteadyTime> orphans_;
  Silences silences_;          // of the session before
  SteadyTime ran_at_{};        // when run_once() last ran
  Duration before_{};          // the longest lease that sessions before may have given
  SteadyTime before_until_{};  // of those none is valid any more
  std::int64_t workers_lost_ = 0;
};

}  // namespace carillon::jobtracker
