#pragma once

#include <vector>

#include "carillon/ids.h"
#include "carillon/time.h"
#include "jobtracker/store/partitions.h"

// Who takes partitions that nobody owns, and who gives some of his away. Each job tracker works
// that out for itself from what it has read; nothing rests on all of them seeing the same, because
// a partition is taken in the store by one of them only.
namespace carillon::jobtracker {

struct PartitionShare {
  SessionId owner{};     // 0: nobody who lives
  bool is_used = false;  // it has node groups
};

// What falls to somebody else by the same reckoning is left to him for so long. Longer: two less
// often come for the same; shorter: what he does not come for starts sooner.
inline constexpr Duration kOthersTurn = std::chrono::milliseconds{700};

// Those without an owner that `us` takes now, of the job trackers that live; `unowned_for`: since
// there are such.
Partitions to_take(SessionId us, const std::vector<SessionId>& trackers,
                   const std::vector<PartitionShare>& partitions, Duration unowned_for);

// Those that `us` gives away now, because somebody has less: half of what he has less, in used
// ones, as long as that is one.
Partitions to_give(SessionId us, const std::vector<SessionId>& trackers,
                   const std::vector<PartitionShare>& partitions);

// Of `partitions` as many as have `most` definitions or fewer; one at least. Who takes them reads
// their definitions, and all its fires wait for that.
Partitions first_portion(const Partitions& partitions, const DefinitionCounts& definitions,
                         std::size_t most);

}  // namespace carillon::jobtracker
