#pragma once

#include <optional>
#include <vector>

#include "jobtracker/cluster/assignment.h"
#include "jobtracker/store/cluster_view.h"
#include "jobtracker/store/heartbeat_watch.h"
#include "jobtracker/store/partitions.h"
#include "shared/base/log.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// The partitions that this job tracker is to own from now on, and the sessions that it fences
// first.
struct OwnershipChange {
  Partitions wanted{};
  std::vector<SessionHeartbeat> silent{};
};

// Notice time between announcing a rebalance and giving up the partitions. Longer than the others
// need to notice it and to connect. Shorter: a job tracker stops sooner.
inline constexpr Duration kNotice = std::chrono::milliseconds{500};

// Most definitions in one portion of a rebalance. Larger: all fires of the new owner wait longer.
// Smaller: the rebalance takes longer.
inline constexpr std::size_t kPortion = 15'000;
// Pause between two portions, in which the others work with the first.
inline constexpr Duration kPortionPause = std::chrono::milliseconds{500};

// What to do now.
struct ClusterMove {
  std::optional<OwnershipChange> change{};
  bool yields = false;    // partitions are about to be given up: announce it
  bool prepares = false;  // a change is likely soon
  // A rebalance is in progress: look again soon. True for two seconds at most.
  bool is_unsettled = false;
  bool ends = false;  // this job tracker is leaving, and may give up all remaining partitions now
};

// Watches the other job trackers on the store, and decides when to take partitions and when to give
// some away.
//
// - A session is alive unless it is silent: its heartbeat has not changed within the time of
//   HeartbeatWatch.
// - If a partition has no live owner, this job tracker takes its share of an even division
//   immediately and fences silent sessions. It takes the shares of others later if they do not.
// - Otherwise, when nothing has changed for two seconds, it gives up half of what it owns more than
//   the job tracker with the fewest. The partitions are then free, and taken as above. It announces
//   this kNotice earlier, so that the others have little to do at that moment. It does not give up
//   partitions while a task tracker may be dead, because the next owner would wait a whole lease
//   again. It fences a silent session without partitions; otherwise clients of that session would
//   wait while its commit hangs.
// - Partitions with many definitions are given up in portions, kPortionPause apart. A leaving job
//   tracker gives up the next portion when the others own the last one.
//
// Job trackers see the state at different times and may decide differently. The store serializes
// their changes, see session_plan.h. A change of ownership starts the next session, see begin().
//
// Thread: the loop. Pure: observations in, decisions out.
class Membership {
 public:
  // `silence`: see HeartbeatWatch.
  explicit Membership(const Logger& log, Duration silence = kSilence,
                      std::size_t portion = kPortion)
      : log_(log), watch_(silence), portion_(portion) {}

  // This job tracker works as this session from now on.
  void begin(SessionId us, Partitions owned, SteadyTime now);
  // `definitions`: the number in each of its own partitions.
  ClusterMove saw(const ClusterView& view, bool may_give, const DefinitionCounts& definitions = {});
  // From now on it gives up all partitions and takes none. `until`: the longest wait for a task
  // tracker that may be dead.
  void leave(SteadyTime now, SteadyTime until) { leaving_ = {.since = now, .until = until}; }
  bool is_leaving() const { return leaving_.has_value(); }
  // Whether another live job tracker was seen.
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
  HeartbeatWatch watch_;
  const std::size_t portion_;
  std::optional<Leaving> leaving_{};
  bool has_more_to_give_ = false;  // the last change was a portion
  // Since when each partition has an owner, and all others have read their store.
  std::optional<SteadyTime> all_work_since_{};
  std::optional<SteadyTime> unowned_since_{};
  std::optional<SteadyTime> yields_since_{};
  std::optional<SteadyTime> unsettled_since_{};
  SteadyTime changed_at_{};  // this job tracker's partitions, or the live sessions
  std::vector<SessionId> living_{};
};

}  // namespace carillon::jobtracker
