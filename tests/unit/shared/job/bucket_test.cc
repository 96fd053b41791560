#include "shared/job/bucket.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace carillon {
namespace {

TEST(Bucket, SpreadsTaskIdsOverAllBuckets) {
  std::set<int> buckets;
  for (int i = 0; i < 1000; ++i) buckets.insert(bucket_of("task-" + std::to_string(i)));
  EXPECT_EQ(buckets.size(), static_cast<std::size_t>(kBuckets));
  EXPECT_EQ(*buckets.begin(), 0);
  EXPECT_EQ(*buckets.rbegin(), kBuckets - 1);
  // Stored rows depend on these: they never change.
  EXPECT_EQ(bucket_of("nightly"), 10);
  EXPECT_EQ(bucket_of(""), 37);
}

TEST(Bucket, EachPartitionHasARangeOfBuckets) {
  EXPECT_EQ(part_of_bucket(63, 1), 0);
  EXPECT_EQ(part_of_bucket(15, 4), 0);
  EXPECT_EQ(part_of_bucket(16, 4), 1);
  EXPECT_EQ(part_of_bucket(63, 4), 3);
  EXPECT_EQ(part_of_bucket(63, 64), 63);
}

TEST(Bucket, PartitionCountMustBeAPowerOfTwo) {
  for (const int parts : {1, 2, 4, 8, 16, 32, 64}) EXPECT_TRUE(is_parts(parts)) << parts;
  for (const int parts : {-2, 0, 3, 6, 65, 128}) EXPECT_FALSE(is_parts(parts)) << parts;
}

}  // namespace
}  // namespace carillon
