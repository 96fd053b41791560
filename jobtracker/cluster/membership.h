#pragma once

#include <optional>
#include <vector>

#include "jobtracker/cluster/assignment.h"
#include "jobtracker/store/beat_watch.h"
#include "jobtracker/store/cluster_view.h"
#include "jobtracker/store/partitions.h"
#include "shared/base/log.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// What this job tracker is to own from now on, and whom it fences for that.
struct OwnershipChange {
  Partitions wanted{};
  std::vector<SessionBeat> silent{};
};

// Who lets go of partitions has said so for so long. Longer than it takes the others to hear of it
// and to connect; shorter: a job tracker stops sooner.
inline constexpr Duration kNotice = std::chrono::milliseconds{500};

// What is to be done by now.
struct ClusterMove {
  std::optional<OwnershipChange> change{};
  bool yields = false;    // some are about to be let go of: the others are to be told
  bool prepares = false;  // a change is likely to come
  // Partitions change hands: it is to be looked again soon. For two seconds at most.
  bool is_unsettled = false;
};

// Watches the other job trackers on the store, and decides when to take partitions and when to
// give some away.
//
// - Who lives is who is not silent: whose beat has changed within the time that BeatWatch says.
// - Some partition has no owner who lives: what falls to this one by an even division is taken at
//   once, with those fenced who are silent; what falls to others, and they leave, is taken later.
// - Otherwise, once nothing has changed for two seconds: it gives half of what it has more than
//   whoever has the least. Nobody is given anything by name; it is nobody's, and taken as above.
//   The others are told kNotice before, so that they have little left to do then. Not while a task
//   tracker may be dead: the next owner of its jobs would wait for it from the start.
//   And who is silent and owns nothing is fenced, or its clients would wait as long as its commit
//   hangs.
//
// All see the same a little apart, and may decide otherwise: the store lets one take, see
// session_plan.h. To change what it owns is to make way for the next session; see begin().
//
// Thread: the loop. Pure: what was seen comes in, what to do goes out.
class Membership {
 public:
  // `silence`: as of BeatWatch.
  explicit Membership(const Logger& log, Duration silence = kSilence)
      : log_(log), watch_(silence) {}

  // This job tracker works as that session now.
  void begin(SessionId us, Partitions owned, SteadyTime now);
  ClusterMove saw(const ClusterView& view, bool may_give);
  // Another one lives, as far as was seen.
  bool has_others() const { return living_.size() > 1; }
  Sizes sizes() const { return watch_.sizes(); }

 private:
  std::vector<SessionId> living(const ClusterView& view);
  ClusterMove decide(const ClusterView& view, bool may_give);
  std::optional<OwnershipChange> even_out(const ClusterView& view,
                                          const std::vector<SessionId>& trackers,
                                          const std::vector<PartitionShare>& shares,
                                          bool may_give) const;

  const Logger& log_;
  SessionId us_{};
  Partitions owned_{};
  BeatWatch watch_;
  std::optional<SteadyTime> unowned_since_{};
  std::optional<SteadyTime> yields_since_{};
  std::optional<SteadyTime> unsettled_since_{};
  SteadyTime changed_at_{};  // us, or who lives
  std::vector<SessionId> living_{};
};

}  // namespace carillon::jobtracker
