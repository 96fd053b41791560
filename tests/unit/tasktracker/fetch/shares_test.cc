#include "tasktracker/fetch/shares.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/random.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SteadyTime kUsual{milliseconds{10'500}};
constexpr SteadyTime kOthersTurn{milliseconds{10'000}};

int sum(const std::vector<int>& all) { return std::accumulate(all.begin(), all.end(), 0); }

TEST(Shares, AreEqualWhileNoTrackerHasWork) {
  EXPECT_THAT(shares(8, true, {{}, {}, {}}, kUsual), ElementsAre(3, 3, 2));
  EXPECT_THAT(shares(8, true, {{}}, kUsual), ElementsAre(8));
  EXPECT_THAT(shares(8, true, {}, kUsual), IsEmpty());
}

// A run may take long, and nobody knows of others' jobs.
TEST(Shares, RotateASingleFreeThreadEachSecond) {
  std::vector<int> had(3);
  for (int second = 0; second < 3; ++second) {
    const auto all = shares(1, false, {{}, {}, {}}, kUsual + std::chrono::seconds{second});
    for (std::size_t i = 0; i < had.size(); ++i) had[i] += all[i];
  }
  EXPECT_THAT(had, ElementsAre(1, 1, 1));
}

TEST(Shares, GoToTrackersWithWork) {
  EXPECT_THAT(shares(8, false, {{.is_hungry = true}, {}, {}}, kUsual), ElementsAre(8, 0, 0));
  const auto two = shares(8, false, {{.is_hungry = true}, {.is_hungry = true}, {}}, kUsual);
  EXPECT_THAT(two, ElementsAre(4, 4, 0));
}

TEST(Shares, GiveIdleTrackersATurnEachSecond) {
  const auto all = shares(8, false, {{.is_hungry = true}, {}, {}}, kOthersTurn);
  EXPECT_THAT(all, ElementsAre(6, 1, 1));
  EXPECT_EQ(sum(shares(1, false, {{.is_hungry = true}, {}, {}}, kOthersTurn)), 1);
}

TEST(Shares, GrowOnlyAfterAnotherShareShrinks) {
  EXPECT_THAT(shares(8, false, {{.owed = 2, .is_hungry = true}, {.owed = 3}}, kUsual),
              ElementsAre(5, 0));
  EXPECT_THAT(shares(8, false, {{.owed = 5, .is_hungry = true}, {.owed = 0}}, kUsual),
              ElementsAre(8, 0));
}

TEST(Shares, AreAtLeastOneEachOnASmallIdleWorker) {
  EXPECT_THAT(shares(2, true, {{.owed = 1}, {.owed = 1}, {}}, kUsual), ElementsAre(1, 1, 1));
  EXPECT_THAT(shares(3, true, {{.owed = 3}, {}, {}}, kUsual), ElementsAre(1, 0, 0));
  EXPECT_EQ(sum(shares(0, false, {{}, {}, {}}, kUsual)), 0);
}

TEST(Shares, NeverOvercommitTheThreads) {
  SeededRandom random{7};
  for (int i = 0; i < 10'000; ++i) {
    const int room = static_cast<int>(random.next() % 20);
    std::vector<Claimant> all(random.next() % 5 + 1);
    for (Claimant& one : all) {
      one = {.owed = static_cast<int>(random.next() % 6), .is_hungry = random.next() % 2 == 0};
    }
    const SteadyTime now{milliseconds{random.next() % 100'000}};
    const auto given = shares(room, false, all, now);
    int before = 0;
    int after = 0;
    for (std::size_t j = 0; j < all.size(); ++j) {
      before += all[j].owed;
      // Until it has answered, it may still hand out what it was allowed before.
      after += std::max(all[j].owed, given[j]);
    }
    EXPECT_LE(after, std::max(room, before));
  }
}

}  // namespace
}  // namespace carillon::tasktracker
