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

// So many definitions change hands at a time. More: all fires of who takes them wait for too long;
// fewer: it takes longer until all have changed hands.
inline constexpr std::size_t kPortion = 15'000;
// So long the others work with one portion before they are given the next.
inline constexpr Duration kPortionPause = std::chrono::milliseconds{500};

// What is to be done by now.
struct ClusterMove {
  std::optional<OwnershipChange> change{};
  bool yields = false;    // some are about to be let go of: the others are to be told
  bool prepares = false;  // a change is likely to come
  // Partitions change hands: it is to be looked again soon. For two seconds at most.
  bool is_unsettled = false;
  bool ends = false;  // it leaves, and what is left can be let go of at once
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
// - What has many definitions is given in portions, kPortionPause apart, and so does who leaves:
// one
//   when the other job trackers have the one before.
//
// All see the same a little apart, and may decide otherwise: the store lets one take, see
// session_plan.h. To change what it owns is to make way for the next session; see begin().
//
// Thread: the loop. Pure: what was seen comes in, what to do goes out.
class Membership {
 public:
  // `silence`: as of BeatWatch.
  explicit Membership(const Logger& log, Duration silence = kSilence,
                      std::size_t portion = kPortion)
      : log_(log), watch_(silence), portion_(portion) {}

  // This job tracker works as that session now.
  void begin(SessionId us, Partitions owned, SteadyTime now);
  // `definitions`: of its own partitions.
  ClusterMove saw(const ClusterView& view, bool may_give, const DefinitionCounts& definitions = {});
  // It gives all that it has from now on, and takes nothing. `until`: it waits so long at most for
  // a task tracker that may be dead.
  void leave(SteadyTime now, SteadyTime until) { leaving_ = {.since = now, .until = until}; }
  bool is_leaving() const { return leaving_.has_value(); }
  // Another one lives, as far as was seen.
  bool has_others() const { return living_.size() > 1; }
  Sizes sizes() const { return watch_.sizes(); }

 private:
  struct Leaving {
    SteadyTime since{};
    SteadyTime until{};
  };

  std::vector<SessionId> living(const ClusterView& view);
  ClusterMove decide(const ClusterView& view, bool may_give, const DefinitionCounts& definitions);
  ClusterMove go_on_leaving(const ClusterView& view, bool has_heirs, bool has_unowned,
                            bool may_give, const DefinitionCounts& definitions);
  void give_some(const ClusterView& view, ClusterMove& move, const DefinitionCounts& definitions);
  void note_workers(const ClusterView& view, bool has_unowned);
  bool pauses(const ClusterView& view) const;
  std::optional<OwnershipChange> even_out(const ClusterView& view,
                                          const std::vector<SessionId>& trackers,
                                          const std::vector<PartitionShare>& shares,
                                          bool may_give) const;

  const Logger& log_;
  SessionId us_{};
  Partitions owned_{};
  BeatWatch watch_;
  const std::size_t portion_;
  std::optional<Leaving> leaving_{};
  bool has_more_to_give_ = false;  // what was given last was a portion
  // Everything has an owner, and all others have read their store.
  std::optional<SteadyTime> all_work_since_{};
  std::optional<SteadyTime> unowned_since_{};
  std::optional<SteadyTime> yields_since_{};
  std::optional<SteadyTime> unsettled_since_{};
  SteadyTime changed_at_{};  // us, or who lives
  std::vector<SessionId> living_{};
};

}  // namespace carillon::jobtracker
