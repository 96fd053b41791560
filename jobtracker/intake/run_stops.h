#pragma once

#include <string>
#include <utility>
#include <vector>

#include "jobtracker/state/attempt_reclaimer.h"
#include "jobtracker/state/called_off.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/worker_link.h"
#include "jobtracker/state/workers.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// Sends stop requests to task trackers for cancelled runs: after the commit, and again when a task
// tracker registers, because the message may be lost. A task tracker that was declared dead and
// still has such a run gets the stop request when it reports the run.
//
// Thread: the loop.
class RunStops {
 public:
  RunStops(Catalog& catalog, ExecutingTable& executing, Workers& workers, AttemptReclaimer& ends,
           Batcher& batcher, WorkerLink& link, const SchedulingClock& clock);

  // The cancellation of these jobs is on disk.
  void stop_runs(const std::vector<JobId>& jobs, const std::string& reason);
  // See RunStopper.
  void stop_runs_of(DefinitionId id, const std::string& reason);
  // Fires of the definition, or all of its runs, are void: runs that were not sent, or were sent
  // ahead of their time, do not start.
  void stop_void(DefinitionId id);
  void call_off(JobId id, const std::string& reason) { called_off_.add(id, reason); }
  // A registering worker lists the runs that it holds.
  void stop_again(const std::vector<wire::Held>& holding);
  // A worker lists the runs that it holds. Cancelled ones get a stop request even if they are not
  // known to run there.
  void stop_stale(const Worker& worker, const std::vector<wire::Held>& holding);

  CalledOff take_called_off() { return std::exchange(called_off_, {}); }
  // Inherits the cancelled jobs of the previous session. Requires: no message was processed.
  void go_on_from(CalledOff called_off) { called_off_ = std::move(called_off); }
  Sizes sizes() const { return {{"called_off", called_off_.size()}}; }

 private:
  // Whether it was sent ahead of its time and has not started.
  bool is_early(const Executing& entry) const {
    return entry.phase == Phase::kSent && clock_.steady_now() < entry.early_until;
  }

  Catalog& catalog_;
  ExecutingTable& executing_;
  Workers& workers_;
  AttemptReclaimer& ends_;
  Batcher& batcher_;
  WorkerLink& link_;
  const SchedulingClock& clock_;
  CalledOff called_off_;
};

}  // namespace carillon::jobtracker
