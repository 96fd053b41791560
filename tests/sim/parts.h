#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "jobtracker/store/memory_tables.h"
#include "jobtracker/store/names.h"
#include "shared/job/bucket.h"

namespace carillon::sim {

// The name of the node group that it is, or is a part of.
inline std::string group_name(const jobtracker::MemoryTables& tables, GroupId group) {
  const std::string& name = tables.groups.at(group).name;
  const auto part = jobtracker::part_named(name);
  return part ? part->whole : name;
}

// The part of the named group that a task is of, or the group; 0: there is none.
inline GroupId part_of(const jobtracker::MemoryTables& tables, const std::string& name,
                       const std::string& task_id) {
  GroupId whole{};
  std::map<std::int32_t, GroupId> parts;
  for (const auto& [id, group] : tables.groups) {
    if (group.name == name) whole = id;
    const auto part = jobtracker::part_named(group.name);
    if (part && part->whole == name) parts[part->number] = id;
  }
  const auto number =
      part_of_bucket(bucket_of(task_id), static_cast<std::int32_t>(parts.size()) + 1);
  return number == 0 ? whole : parts.at(number);
}

}  // namespace carillon::sim
