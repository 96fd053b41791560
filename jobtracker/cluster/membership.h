#pragma once

#include <optional>
#include <vector>

#include "jobtracker/store/beat_watch.h"
#include "jobtracker/store/cluster_view.h"
#include "jobtracker/store/partitions.h"
#include "shared/base/log.h"

namespace carillon::jobtracker {

// What this job tracker is to own from now on, and whom it fences for that.
struct OwnershipChange {
  Partitions wanted{};
  std::vector<SessionBeat> silent{};
};

// Watches the other job trackers on the store, and decides when to take partitions and when to
// give some away: takes at once what falls to it, and gives when nothing else has changed for a
// while.
//
// Thread: the loop. Pure: what was seen comes in, what to do goes out.
class Membership {
 public:
  explicit Membership(const Logger& log) : log_(log) {}

  // This job tracker works as that session now.
  void begin(SessionId us, Partitions owned, SteadyTime now);
  // Nothing: all is well as it is.
  std::optional<OwnershipChange> saw(const ClusterView& view);

 private:
  std::vector<SessionId> living(const ClusterView& view);

  const Logger& log_;
  SessionId us_{};
  Partitions owned_{};
  BeatWatch watch_{};
  std::optional<SteadyTime> unowned_since_{};
  SteadyTime changed_at_{};  // us, or who lives
  std::vector<SessionId> living_{};
};

}  // namespace carillon::jobtracker
