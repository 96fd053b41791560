#include "jobtracker/store/bulk_room.h"

#include <gtest/gtest.h>

namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kLimit = 1000;
constexpr Duration kTime = milliseconds{8};

// Of 1000 rows that the store can write in 8 ms so many are of jobs that run. How many of a bulk
// load may be stored for each 1000, when it comes in units of 10?
double bulk_beside(std::size_t of_runs) {
  BulkRoom room;
  SteadyTime now{};
  double stored = 0;
  constexpr int kBatches = 1000;
  for (int batch = -100; batch < kBatches; ++batch) {
    now += kTime;
    room.make_batch(now, kLimit, kTime);
    room.ran(of_runs);
    for (std::size_t rows = of_runs; rows < kLimit && !room.is_used_up(); rows += 10) {
      room.took(10);
      if (batch >= 0) stored += 10;
    }
  }
  return stored / kBatches;
}

TEST(BulkRoom, LeavesEverythingToABulkLoadWhenNothingRuns) { EXPECT_EQ(bulk_beside(0), 1000); }

TEST(BulkRoom, LimitsNoBulkLoadBesideFewRuns) {
  EXPECT_EQ(bulk_beside(10), 990);
  EXPECT_EQ(bulk_beside(90), 910);
}

TEST(BulkRoom, LeavesABulkLoadOverHalfBesideModerateRuns) {
  EXPECT_GE(bulk_beside(140), 500);
  EXPECT_LE(bulk_beside(140), 700);
}

TEST(BulkRoom, LimitsABulkLoadToHalfTheRowsOfRuns) {
  for (const std::size_t of_runs : {300U, 400U, 600U}) {
    EXPECT_NEAR(bulk_beside(of_runs), static_cast<double>(of_runs) / 2, 15) << of_runs;
  }
}

TEST(BulkRoom, LeavesABulkLoadAShareOnASlowStore) {
  BulkRoom room;
  SteadyTime now{};
  int stored = 0;
  for (int batch = 0; batch < 1600; ++batch) {
    now += milliseconds{1};
    room.make_batch(now, 2, kTime);
    room.ran(1);
    if (room.is_used_up()) continue;
    room.took(1);
    ++stored;
  }
  EXPECT_NEAR(stored, 800, 110);
}

TEST(BulkRoom, LiftsItsLimitSoonAfterTheLastRun) {
  BulkRoom room;
  SteadyTime now{};
  for (int batch = 0; batch < 100; ++batch) {
    now += kTime;
    room.make_batch(now, kLimit, kTime);
    room.ran(800);
    if (!room.is_used_up()) room.took(kLimit);
  }
  now += milliseconds{100};
  room.make_batch(now, kLimit, kTime);
  now += milliseconds{100};
  room.make_batch(now, kLimit, kTime);
  EXPECT_FALSE(room.is_used_up());
}

}  // namespace
}  // namespace carillon::jobtracker
