#pragma once

#include <cstdint>
#include <string_view>

// Which part of a node group a job stands in, by its task id: the same on every machine and in
// every version, since rows are stored by it.
namespace carillon {

inline constexpr int kBuckets = 64;
// A group has 1, 2, 4 … so many parts.
inline constexpr std::int32_t kPartsMax = kBuckets;

// FNV-1a of the task id, modulo kBuckets.
int bucket_of(std::string_view task_id);

// Each part has a range of the buckets.
constexpr std::int32_t part_of_bucket(int bucket, std::int32_t parts) {
  return bucket * parts / kBuckets;
}
constexpr bool is_parts(std::int64_t parts) {
  return parts >= 1 && parts <= kPartsMax && (parts & (parts - 1)) == 0;
}

}  // namespace carillon
