#include "jobtracker/store/group_split.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobtracker/store/names.h"
#include "shared/job/bucket.h"

namespace carillon::jobtracker {
namespace {

using ::testing::HasSubstr;

constexpr WallTime kNow{std::chrono::seconds{1'000'000}};

std::vector<Group> some_groups() {
  return {{.id = GroupId{3}, .name = "Mail", .table = "lts_wjq_mail", .served = true},
          {.id = GroupId{4}, .name = "other", .table = "lts_wjq_mail_1"}};
}

Partitions only(std::initializer_list<std::size_t> partitions) {
  Partitions all;
  for (const std::size_t one : partitions) all.set(one);
  return all;
}

Error refusal(const std::vector<Group>& groups, const GroupSplit& split,
              const Partitions& owned = all_partitions()) {
  const auto plan = plan_split(groups, split, owned, kNow);
  EXPECT_FALSE(plan.ok());
  return plan.ok() ? Error{ErrorCode::kCorrupt, "it is split"} : plan.error();
}

TEST(GroupSplitPlan, CoverAllBucketsOnce) {
  const auto plan =
      plan_split(some_groups(), {.group = "MAIL", .parts = 8}, all_partitions(), kNow);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan.value().whole.id, GroupId{3});
  ASSERT_EQ(plan.value().parts.size(), 7U);
  std::set<GroupId> ids{GroupId{3}, GroupId{4}};
  std::set<std::string> tables{"lts_wjq_mail", "lts_wjq_mail_1"};
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    const int number = part_of_bucket(bucket, 8);
    for (int part = 1; part < 8; ++part) {
      EXPECT_EQ(plan.value().parts[static_cast<std::size_t>(part - 1)].takes(bucket),
                part == number);
    }
  }
  for (const NewGroupPartition& part : plan.value().parts) {
    EXPECT_TRUE(ids.insert(part.group.id).second);
    EXPECT_TRUE(tables.insert(part.group.table).second);
    EXPECT_TRUE(is_group_table(part.group.table));
    EXPECT_EQ(part_named(part.group.name)->whole, "Mail");
    EXPECT_TRUE(part.group.served);
    EXPECT_EQ(part.group.created_at, kNow);
  }
}

TEST(GroupSplitPlan, UseOwnedPartitionsStartingWithUnusedOnes) {
  const auto owned = only({3, 10, 20, 4});
  const auto plan = plan_split(some_groups(), {.group = "mail", .parts = 8}, owned, kNow);
  ASSERT_TRUE(plan.ok());
  std::vector<int> partitions;
  for (const NewGroupPartition& part : plan.value().parts)
    partitions.push_back(partition_of(part.group.id));
  EXPECT_THAT(partitions, ::testing::ElementsAre(10, 20, 3, 4, 10, 20, 3));
}

TEST(GroupSplitPlan, AreRefusedForAGroupThatCannotBeSplit) {
  EXPECT_EQ(refusal(some_groups(), {.group = "none", .parts = 2}).code, ErrorCode::kNotFound);
  EXPECT_EQ(refusal(some_groups(), {.group = "mail", .parts = 2}, only({4})).code,
            ErrorCode::kNotFound);
  auto groups = some_groups();
  groups.push_back({.id = GroupId{9}, .name = "Mail/1", .table = "lts_wjq_mail_9"});
  EXPECT_THAT(refusal(groups, {.group = "mail", .parts = 2}).message, HasSubstr("already split"));
  groups = some_groups();
  groups[1].name = std::string(62, 'x');
  EXPECT_THAT(refusal(groups, {.group = groups[1].name, .parts = 2}).message,
              HasSubstr("at most 61 characters"));
}

TEST(GroupSplitPlan, HaveNamesReservedFromUsers) {
  const auto named = part_named(part_name("a.b", 12));
  ASSERT_TRUE(named);
  EXPECT_EQ(named->whole, "a.b");
  EXPECT_EQ(named->number, 12);
  EXPECT_FALSE(check_group_name(part_name("a", 1)).ok());
  for (const char* name : {"a", "a/", "a/0", "a/64", "a/1x", "a/-1"}) {
    EXPECT_FALSE(part_named(name)) << name;
  }
}

}  // namespace
}  // namespace carillon::jobtracker
