#include "tests/bench/statistics.h"

#include <gtest/gtest.h>

namespace carillon::bench {
namespace {

TEST(Statistics, PercentileIsAMeasuredValue) {
  const std::vector<double> values{5, 1, 4, 2, 3};
  EXPECT_EQ(percentile(values, 0.5), 3);
  EXPECT_EQ(percentile(values, 0.6), 3);
  EXPECT_EQ(percentile(values, 0.61), 4);
  EXPECT_EQ(percentile(values, 0.99), 5);
  EXPECT_EQ(percentile(values, 1), 5);
  EXPECT_EQ(percentile(values, 0), 1);
}

TEST(Statistics, AreZeroWithoutMeasurements) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(spread_of({}).max, 0);
}

TEST(Statistics, SpreadHasTheMedianAndTheExtremes) {
  const Spread spread = spread_of({30, 10, 20});
  EXPECT_EQ(spread.median, 20);
  EXPECT_EQ(spread.min, 10);
  EXPECT_EQ(spread.max, 30);
  EXPECT_EQ(spread_of({40, 10, 20, 30}).median, 25);
}

}  // namespace
}  // namespace carillon::bench
