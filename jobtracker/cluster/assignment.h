#pragma once

#include <vector>

#include "carillon/ids.h"
#include "carillon/time.h"
#include "jobtracker/store/partitions.h"

// Decides which free partitions a job tracker takes and which it gives away. Each job tracker
// decides alone from what it has read. Their views may differ: a transaction of the store lets only
// one take a partition.
namespace carillon::jobtracker {

struct PartitionShare {
  SessionId owner{};     // 0: no live owner
  bool is_used = false;  // it has node groups
};

// A job tracker leaves another one's share to it for this time. Longer: fewer conflicts between two
// job trackers. Shorter: a share that is not taken starts sooner.
inline constexpr Duration kOthersTurn = std::chrono::milliseconds{700};

// The free partitions that `us` takes now. `trackers`: the live job trackers. `unowned_for`: how
// long there have been free partitions.
Partitions to_take(SessionId us, const std::vector<SessionId>& trackers,
                   const std::vector<PartitionShare>& partitions, Duration unowned_for);

// The partitions that `us` gives away now because another job tracker owns fewer: half of the
// difference in used partitions, if that is at least one.
Partitions to_give(SessionId us, const std::vector<SessionId>& trackers,
                   const std::vector<PartitionShare>& partitions);

// The first of `partitions` with at most `most` definitions together, at least one. The new owner
// first reads their definitions, and all its fires wait for that.
Partitions first_portion(const Partitions& partitions, const DefinitionCounts& definitions,
                         std::size_t most);

}  // namespace carillon::jobtracker
