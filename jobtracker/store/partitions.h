#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "carillon/ids.h"

// What job trackers that share a database divide among themselves: whole node groups, by their
// number. Who owns a partition decides alone about the jobs of its groups.
namespace carillon::jobtracker {

// Also the most job trackers that may work on one database.
inline constexpr std::int32_t kPartitions = 64;

constexpr std::int32_t partition_of(GroupId group) { return group.value % kPartitions; }

// Log ids of calls of executors carry that of their group. They are not larger than what executors
// in JavaScript can tell from its neighbours.
inline constexpr std::int64_t kLogIdMax = (std::int64_t{1} << 53) - 1;
constexpr std::int32_t partition_of_log_id(std::int64_t log_id) {
  return static_cast<std::int32_t>(log_id & (kPartitions - 1));
}

// The same on every machine, and whatever the case.
constexpr std::int32_t partition_of_client_group(std::string_view name) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : name) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const auto byte = static_cast<unsigned char>(is_upper ? c - 'A' + 'a' : c);
    hash = (hash ^ byte) * 16777619U;
  }
  return static_cast<std::int32_t>(hash % kPartitions);
}

using Partitions = std::bitset<kPartitions>;
// How many definitions each partition has.
using DefinitionCounts = std::array<std::size_t, kPartitions>;
inline Partitions all_partitions() { return Partitions{}.set(); }
inline bool has_group(const Partitions& partitions, GroupId group) {
  return partitions.test(static_cast<std::size_t>(partition_of(group)));
}

}  // namespace carillon::jobtracker
