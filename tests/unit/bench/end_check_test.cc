#include "tests/bench/end_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::bench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<End> succeeded(const std::vector<std::int64_t>& keys) {
  std::vector<End> ends;
  for (const std::int64_t key : keys) ends.push_back({.key = key, .state = "succeeded"});
  return ends;
}

Status check(const std::vector<std::int64_t>& expected, const std::vector<End>& ends) {
  return check_each_succeeded_once(expected, ends,
                                   [](std::int64_t key) { return "job " + std::to_string(key); });
}

TEST(EndCheck, AcceptsOneSuccessPerJobInAnyOrder) {
  EXPECT_TRUE(check({1, 2, 3}, succeeded({3, 1, 2})).ok());
}

TEST(EndCheck, RefusesAJobThatNeverEnded) {
  const Status status = check({1, 2, 3}, succeeded({1, 3}));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "of 3 jobs: 1 never ended (first: job 2)");
}

TEST(EndCheck, RefusesAJobEndedTwiceDespiteTheRightRowCount) {
  const Status status = check({1, 2, 3}, succeeded({1, 3, 3}));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("1 never ended (first: job 2)"),
                                            HasSubstr("1 ended twice (first: job 3)")));
}

TEST(EndCheck, CountsAJobThatEndedThreeTimesOnce) {
  const Status status = check({1}, succeeded({1, 1, 1}));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "of 1 jobs: 1 ended twice (first: job 1)");
}

TEST(EndCheck, RefusesARetryBesideTheSuccess) {
  const Status status = check({1}, {{.key = 1, .state = "lost"}, {.key = 1, .state = "succeeded"}});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("1 ended twice"),
                                            HasSubstr("1 did not succeed (first: job 1 lost)")));
}

TEST(EndCheck, RefusesAFailure) { EXPECT_FALSE(check({1}, {{.key = 1, .state = "failed"}}).ok()); }

TEST(EndCheck, RefusesAJobThatWasNotSubmitted) {
  const Status status = check({1}, succeeded({1, 9}));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("1 ended that was not submitted (first: job 9)"));
}

}  // namespace
}  // namespace carillon::bench
