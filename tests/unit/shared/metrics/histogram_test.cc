#include "shared/metrics/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

TEST(Histogram, CountsEachValueInTheBucketUpToItsLimit) {
  Histogram<kSizeBounds> sizes;
  for (const std::int64_t size : {0, 1, 2, 4, 5, 8192, 8193, 1'000'000}) sizes.record(size);
  const HistogramValues values = sizes.values(kPieces);
  EXPECT_THAT(values.bounds, ElementsAre(1, 4, 16, 64, 256, 512, 1024, 4096, 8192));
  EXPECT_THAT(values.counts, ElementsAre(2, 2, 1, 0, 0, 0, 0, 0, 1, 2));
  EXPECT_EQ(values.sum, 0 + 1 + 2 + 4 + 5 + 8192 + 8193 + 1'000'000);
}

TEST(Histogram, ShowsTimesInSeconds) {
  TimeHistogram times;
  times.record(milliseconds{1});
  times.record(microseconds{1001});
  times.record(hours{2});
  const HistogramValues values = times.values(kMicroseconds);
  EXPECT_EQ(values.bounds.front(), 0.001);
  EXPECT_EQ(values.bounds.back(), 3600);
  EXPECT_EQ(values.counts[0], 1);
  EXPECT_EQ(values.counts[1], 1);
  EXPECT_EQ(values.counts.back(), 1);
  EXPECT_DOUBLE_EQ(values.sum, 7200.002001);
}

TEST(Histogram, AddsUp) {
  TimeHistogram one;
  TimeHistogram other;
  one.record(milliseconds{1});
  other.record(milliseconds{1});
  other.record(seconds{20});
  one.add(other);
  EXPECT_EQ(one.values(kMicroseconds).counts[0], 2);
  EXPECT_DOUBLE_EQ(one.values(kMicroseconds).sum, 20.002);
}

TEST(Histogram, MayBeSharedByThreads) {
  SharedHistogram<kShortTimeBounds> times;
  times.record(microseconds{100});
  EXPECT_EQ(times.values(kMicroseconds).counts.front(), 1);
}

TEST(QuantileTimes, AreAtMostAQuarterTooLarge) {
  for (std::int64_t exact = 130; exact < 3'000'000'000; exact = exact * 11 / 10) {
    QuantileTimes times;
    times.record(Duration{exact});
    const auto found = static_cast<double>(times.quantile(0.5).count());
    EXPECT_GT(found, static_cast<double>(exact)) << exact;
    EXPECT_LE(found, 1.25 * static_cast<double>(exact) + 1) << exact;
  }
}

TEST(QuantileTimes, FindTheSharesOfMany) {
  QuantileTimes times;
  for (int i = 1; i <= 100; ++i) times.record(milliseconds{i});
  EXPECT_NEAR(static_cast<double>(times.quantile(0.50).count()), 50'000, 12'500);
  EXPECT_NEAR(static_cast<double>(times.quantile(0.99).count()), 99'000, 25'000);
  EXPECT_EQ(times.total(), 100);
}

TEST(QuantileTimes, HaveLimits) {
  QuantileTimes times;
  EXPECT_EQ(times.quantile(0.5), Duration{});
  times.record(Duration{});
  EXPECT_EQ(times.quantile(0.99), Duration{128});
  times.record(hours{100'000});
  EXPECT_GT(times.quantile(1), hours{1});
  QuantileTimes sum;
  sum.add(times);
  EXPECT_EQ(sum.total(), 2);
}

}  // namespace
}  // namespace carillon
