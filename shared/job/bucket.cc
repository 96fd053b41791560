#include "shared/job/bucket.h"

namespace carillon {

int bucket_of(std::string_view task_id) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : task_id) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  }
  return static_cast<int>(hash % kBuckets);
}

}  // namespace carillon
