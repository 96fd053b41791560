#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"
#include "jobtracker/store/partitions.h"
#include "jobtracker/store/rows.h"

// What the splitting of a node group makes. Pure; the stores move the rows.
namespace carillon::jobtracker {

// A group that is to have so many parts, 2, 4 … 64.
struct GroupSplit {
  std::string group{};
  std::int32_t parts = 0;
};

// A part that is to be made, and whose rows go there.
struct NewPart {
  Group group{};
  int first_bucket = 0;
  int last_bucket = 0;

  bool takes(int bucket) const { return bucket >= first_bucket && bucket <= last_bucket; }
};

// All but the first, which is the group itself. Their partitions are all `owned`, so that one job
// tracker alone has to know of them at first: those that no group uses as long as there are some,
// each once before any twice.
//
// kNotFound, kInvalidArgument, kLimit: it cannot be split, or not here.
// Requires: is_parts(split.parts). `groups`: all, by number.
struct SplitPlan {
  Group whole{};
  std::vector<NewPart> parts{};
};
Result<SplitPlan> plan_split(const std::vector<Group>& groups, const GroupSplit& split,
                             const Partitions& owned, WallTime now);

// Why it is not split, and why one that was split, or that is for task trackers, gets no executors.
Error executors_error(const Group& group);
Error split_group_error(const Group& group);
Error task_trackers_error(const Group& group);

}  // namespace carillon::jobtracker
