#include "shared/job/retry_delay.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Le;

std::vector<Duration> delays(const RetryPolicy& policy, int failures) {
  SeededRandom random(1);
  std::vector<Duration> all;
  for (int i = 1; i <= failures; ++i) all.push_back(retry_delay(policy, i, random));
  return all;
}

TEST(RetryDelay, IsConstantUnderTheFixedPolicy) {
  EXPECT_THAT(delays({.base = seconds{30}}, 3), ElementsAre(seconds{30}, seconds{30}, seconds{30}));
}

TEST(RetryDelay, DoublesUpToItsCapUnderTheExponentialPolicy) {
  const RetryPolicy policy{
      .policy = RetryBackoff::kExponential, .base = seconds{10}, .cap = seconds{35}};
  EXPECT_THAT(delays(policy, 4), ElementsAre(seconds{10}, seconds{20}, seconds{35}, seconds{35}));
  EXPECT_EQ(delays(policy, 1000).back(), seconds{35});
}

TEST(RetryDelay, VariesByAtMostTheJitterInBothDirections) {
  const auto all = delays({.base = seconds{100}, .jitter = 0.2}, 1000);
  EXPECT_THAT(all, Each(AllOf(Ge(seconds{80}), Le(seconds{120}))));
  EXPECT_LT(*std::min_element(all.begin(), all.end()), seconds{82});
  EXPECT_GT(*std::max_element(all.begin(), all.end()), seconds{118});
}

TEST(RetryDelay, NeverExceedsItsCapThroughJitter) {
  const auto all = delays({.policy = RetryBackoff::kExponential,
                           .base = seconds{10},
                           .cap = seconds{10},
                           .jitter = 1.0},
                          1000);
  EXPECT_THAT(all, Each(Le(seconds{10})));
  EXPECT_LT(*std::min_element(all.begin(), all.end()), seconds{1});
}

}  // namespace
}  // namespace carillon
