#pragma once

#include <cstdint>
#include <string_view>

// The bucket of a job within its node group, by task id. It decides the partition of a split group.
// It is the same on all machines and in all versions, because stored rows depend on it.
namespace carillon {

inline constexpr int kBuckets = 64;
// A group has 1, 2, 4 … up to this number of partitions.
inline constexpr std::int32_t kPartsMax = kBuckets;

// FNV-1a of the task id, modulo kBuckets.
int bucket_of(std::string_view task_id);

// Each partition has a range of buckets.
constexpr std::int32_t part_of_bucket(int bucket, std::int32_t parts) {
  return bucket * parts / kBuckets;
}
constexpr bool is_parts(std::int64_t parts) {
  return parts >= 1 && parts <= kPartsMax && (parts & (parts - 1)) == 0;
}

}  // namespace carillon
