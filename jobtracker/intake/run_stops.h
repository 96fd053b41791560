#pragma once

#include <string>
#include <utility>
#include <vector>

#include "jobtracker/state/called_off.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/take_back.h"
#include "jobtracker/state/worker_link.h"
#include "jobtracker/state/workers.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// Tells task trackers to stop runs that are not wanted any more: once that is on disk, and again
// when one registers, as that word may be lost. So is whoever still has a run though it was taken
// for dead, as soon as it says so.
//
// Thread: the loop.
class RunStops {
 public:
  RunStops(Catalog& catalog, ExecutingTable& executing, Workers& workers, TakeBack& ends,
           Batcher& batcher, WorkerLink& link, const SchedulingClock& clock);

  // These are cancelled, on disk.
  void stop_runs(const std::vector<JobId>& jobs, const std::string& reason);
  // As of RunStopper.
  void stop_runs_of(DefinitionId id, const std::string& reason);
  // Fires of the definition, or all of its runs, are void now: what was not sent, or before its
  // time, does not begin.
  void stop_void(DefinitionId id);
  void call_off(JobId id, const std::string& reason) { called_off_.add(id, reason); }
  // A worker that registers says what it holds.
  void stop_again(const std::vector<wire::Held>& holding);
  // A worker says what it holds: what was called off is to stop though it is not known to run
  // there.
  void stop_stale(const Worker& worker, const std::vector<wire::Held>& holding);

  CalledOff take_called_off() { return std::exchange(called_off_, {}); }
  // What the session before called off; before the first message.
  void go_on_from(CalledOff called_off) { called_off_ = std::move(called_off); }
  Sizes sizes() const { return {{"called_off", called_off_.size()}}; }

 private:
  // Handed out before its time, it has not begun.
  bool is_early(const Executing& entry) const {
    return entry.phase == Phase::kSent && clock_.steady_now() < entry.early_until;
  }

  Catalog& catalog_;
  ExecutingTable& executing_;
  Workers& workers_;
  TakeBack& ends_;
  Batcher& batcher_;
  WorkerLink& link_;
  const SchedulingClock& clock_;
  CalledOff called_off_;
};

}  // namespace carillon::jobtracker
