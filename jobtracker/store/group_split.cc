#include "jobtracker/store/group_split.h"

#include <algorithm>
#include <set>
#include <string>

#include "carillon/job_spec.h"
#include "jobtracker/store/names.h"
#include "shared/base/assert.h"
#include "shared/base/utf8.h"
#include "shared/job/bucket.h"

namespace carillon::jobtracker {
namespace {

Error refused(ErrorCode code, const std::string& group, const std::string& why) {
  return {code, "group '" + group + "' " + why};
}

Status check(const std::vector<Group>& groups, const Group& whole, const GroupSplit& split,
             const Partitions& owned) {
  if (part_name(whole.name, kPartsMax - 1).size() > kGroupBytesMax) {
    return refused(ErrorCode::kInvalidArgument, whole.name,
                   "has a name that is too long for a split, at most " +
                       std::to_string(kGroupBytesMax - part_name("", kPartsMax - 1).size()) +
                       " characters");
  }
  const bool is_split = std::any_of(groups.begin(), groups.end(), [&](const Group& group) {
    const auto part = part_named(group.name);
    return part && part->whole == whole.name;
  });
  if (is_split) return refused(ErrorCode::kInvalidArgument, whole.name, "is already split");
  if (groups.size() + static_cast<std::size_t>(split.parts) - 1 > kGroupsMax) {
    return refused(ErrorCode::kLimit, whole.name,
                   "cannot be split: each partition counts as a group, and there can be " +
                       std::to_string(kGroupsMax) + " at most");
  }
  if (!has_group(owned, whole.id)) {
    return refused(ErrorCode::kNotFound, whole.name,
                   "is now owned by another job tracker, try again");
  }
  return {};
}

std::vector<GroupId> new_ids(GroupId last, std::size_t count, const Partitions& owned,
                             const Partitions& used) {
  std::vector<GroupId> ids;
  Partitions free = owned & ~used;
  for (GroupId id = last; ids.size() < count;) {
    if (free.none()) free = owned;
    ++id.value;
    const auto partition = static_cast<std::size_t>(partition_of(id));
    if (!free.test(partition)) continue;
    free.reset(partition);
    ids.push_back(id);
  }
  return ids;
}

}  // namespace

Error executors_error(const Group& group) {
  return refused(ErrorCode::kInvalidArgument, group.name,
                 "is a group of xxl-job executors, which cannot be split");
}

Error split_group_error(const Group& group) {
  return {ErrorCode::kInvalidArgument,
          "group '" + group.name + "' is split; use another group for xxl-job executors"};
}

Error task_trackers_error(const Group& group) {
  return {ErrorCode::kConflict,
          "group '" + group.name +
              "' is a group of task trackers with jobs; use another group for xxl-job executors"};
}

Result<SplitPlan> plan_split(const std::vector<Group>& groups, const GroupSplit& split,
                             const Partitions& owned, WallTime now) {
  CARILLON_ASSERT(is_parts(split.parts), "the caller checked the number of partitions");
  const auto lower = lower_ascii(split.group);
  const auto whole = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
    return lower_ascii(group.name) == lower;
  });
  if (whole == groups.end())
    return refused(ErrorCode::kNotFound, split.group, "does not exist any more");
  CARILLON_TRY(check(groups, *whole, split, owned));
  Partitions used;
  std::set<std::string> tables;
  for (const Group& group : groups) {
    used.set(static_cast<std::size_t>(partition_of(group.id)));
    tables.insert(group.table);
  }
  SplitPlan plan{.whole = *whole};
  const auto ids =
      new_ids(groups.back().id, static_cast<std::size_t>(split.parts) - 1, owned, used);
  const int width = kBuckets / split.parts;
  for (const GroupId id : ids) {
    const auto number = static_cast<int>(plan.parts.size()) + 1;
    const std::string name = part_name(whole->name, number);
    const std::string table = new_group_table(
        name, [&](const std::string& candidate) { return tables.contains(candidate); });
    tables.insert(table);
    plan.parts.push_back(
        {.group =
             {.id = id, .name = name, .table = table, .served = whole->served, .created_at = now},
         .first_bucket = number * width,
         .last_bucket = (number + 1) * width - 1});
  }
  return plan;
}

}  // namespace carillon::jobtracker
