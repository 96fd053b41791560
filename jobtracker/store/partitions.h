#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "carillon/ids.h"

// Partitions: the unit that job trackers on one database divide. A partition has whole node groups,
// by group number. Its owner alone decides about the jobs of its groups.
namespace carillon::jobtracker {

// Also the most job trackers on one database.
inline constexpr std::int32_t kPartitions = 64;

constexpr std::int32_t partition_of(GroupId group) { return group.value % kPartitions; }

// Log ids of executor calls contain the partition of their group. They stay within the integers
// that JavaScript represents exactly.
inline constexpr std::int64_t kLogIdMax = (std::int64_t{1} << 53) - 1;
constexpr std::int32_t partition_of_log_id(std::int64_t log_id) {
  return static_cast<std::int32_t>(log_id & (kPartitions - 1));
}

// The same on every machine, case-insensitive.
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
// The number of definitions of each partition.
using DefinitionCounts = std::array<std::size_t, kPartitions>;
inline Partitions all_partitions() { return Partitions{}.set(); }
inline bool has_group(const Partitions& partitions, GroupId group) {
  return partitions.test(static_cast<std::size_t>(partition_of(group)));
}

}  // namespace carillon::jobtracker
