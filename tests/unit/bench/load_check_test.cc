#include "tests/bench/load_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::bench {
namespace {

using ::testing::HasSubstr;

const Load kCalm{.maximum = 1000, .ended_per_second = 1860, .left_over = 1800};

TEST(LoadCheck, AcceptsARateDownToTheRequestedShare) {
  Load load{.maximum = 1000, .ended_per_second = 900, .least_percent = 90};
  EXPECT_TRUE(check_rate(load).ok());
  load.ended_per_second = 880;
  EXPECT_THAT(check_rate(load).error().message,
              HasSubstr("fell to 88 % of the maximum (880 of 1000 jobs/s)"));
}

TEST(LoadCheck, ReportsNoOverloadWhenEveryJobIsAcceptedAndRun) {
  EXPECT_THAT(check_overloaded(kCalm).error().message,
              HasSubstr("no overload: nothing was turned away"));
  EXPECT_THAT(check_overloaded(kCalm).error().message, HasSubstr("186 % of the maximum"));
}

TEST(LoadCheck, RejectedDelayedOrLeftoverJobsCountAsOverload) {
  Load turned_away = kCalm;
  turned_away.turned_away = 1;
  EXPECT_TRUE(check_overloaded(turned_away).ok());
  Load slowed_down = kCalm;
  slowed_down.slowed_down = 1;
  EXPECT_TRUE(check_overloaded(slowed_down).ok());
  Load left_over = kCalm;
  left_over.left_over = 1861;
  EXPECT_TRUE(check_overloaded(left_over).ok());
}

}  // namespace
}  // namespace carillon::bench
