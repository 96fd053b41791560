#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"
#include "jobtracker/store/partitions.h"
#include "jobtracker/store/rows.h"

// Plans the split of a node group. Pure; the stores move the rows.
namespace carillon::jobtracker {

// Splits a group into 2, 4 … 64 partitions.
struct GroupSplit {
  std::string group{};
  std::int32_t parts = 0;
};

// A new partition and its buckets.
struct NewGroupPartition {
  Group group{};
  int first_bucket = 0;
  int last_bucket = 0;

  bool takes(int bucket) const { return bucket >= first_bucket && bucket <= last_bucket; }
};

// All partitions except the first, which is the group itself. Their partition numbers are all
// `owned`, so that at first only one job tracker must know them: unused numbers first, then each
// once before any twice.
//
// Errors: kNotFound, kInvalidArgument or kLimit if it cannot be split. Requires:
// is_parts(split.parts). `groups`: all, by number.
struct SplitPlan {
  Group whole{};
  std::vector<NewGroupPartition> parts{};
};
Result<SplitPlan> plan_split(const std::vector<Group>& groups, const GroupSplit& split,
                             const Partitions& owned, WallTime now);

// Why a group cannot be split, and why a split group or a group of task trackers cannot have
// executors.
Error executors_error(const Group& group);
Error split_group_error(const Group& group);
Error task_trackers_error(const Group& group);

}  // namespace carillon::jobtracker
