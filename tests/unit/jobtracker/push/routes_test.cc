#include "jobtracker/push/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const std::vector<std::string> kAllThree{"http://10.0.0.1:9999/", "http://10.0.0.2:9999/",
                                         "http://10.0.0.3:9999/"};

struct Routed {
  RouteMemory memory{};
  SeededRandom random{7};

  std::vector<std::string> order(Route way, const std::vector<std::string>& addresses = kAllThree,
                                 std::int64_t job = 1) {
    return route(way, std::to_string(job), addresses, memory, random);
  }
  std::string first(Route way, const std::vector<std::string>& addresses = kAllThree,
                    std::int64_t job = 1) {
    return order(way, addresses, job).front();
  }
};

TEST(Routes, FirstAndLastFollowTheListOrder) {
  Routed routed;
  EXPECT_EQ(routed.order(Route::kFirst), kAllThree);
  EXPECT_THAT(routed.order(Route::kLast), ElementsAre(kAllThree[2], kAllThree[1], kAllThree[0]));
  EXPECT_EQ(routed.order(Route::kFailover), kAllThree);
  EXPECT_EQ(routed.order(Route::kBusyover), kAllThree);
  EXPECT_EQ(routed.order(Route::kShardingBroadcast), kAllThree);
  EXPECT_EQ(routed.memory, RouteMemory{});
}

TEST(Routes, RoundRobinStartsAnywhereAndTakesEachInTurn) {
  Routed routed;
  const auto start = routed.order(Route::kRound);
  EXPECT_THAT(start, UnorderedElementsAre(kAllThree[0], kAllThree[1], kAllThree[2]));
  EXPECT_EQ(routed.first(Route::kRound), start[1]);
  EXPECT_EQ(routed.first(Route::kRound), start[2]);
  EXPECT_EQ(routed.first(Route::kRound), start[0]);
}

TEST(Routes, RandomChoosesAddressesEvenly) {
  Routed routed;
  std::map<std::string, int> taken;
  for (int i = 0; i < 3000; ++i) ++taken[routed.first(Route::kRandom)];
  for (const std::string& address : kAllThree) EXPECT_NEAR(taken[address], 1000, 150) << address;
}

TEST(Routes, HashesAsXxlJobDoes) {
  EXPECT_EQ(ring_hash("1"), 943901380U);
  EXPECT_EQ(ring_hash("SHARD-http://10.0.0.1:9999/-NODE-0"), 3725898238U);
}

TEST(Routes, ConsistentHashChoosesAsXxlJobDoes) {
  Routed routed;
  const std::vector<std::pair<std::int64_t, int>> known{{1, 3},  {2, 3},   {3, 1},
                                                        {17, 2}, {100, 3}, {2147483647, 2}};
  for (const auto& [job, place] : known) {
    EXPECT_EQ(routed.first(Route::kConsistentHash, kAllThree, job),
              kAllThree[static_cast<std::size_t>(place - 1)])
        << job;
  }
}

TEST(Routes, ConsistentHashKeepsItsOrderWhenAnAddressLeaves) {
  Routed routed;
  for (std::int64_t job = 1; job <= 200; ++job) {
    const auto order = routed.order(Route::kConsistentHash, kAllThree, job);
    ASSERT_THAT(order, UnorderedElementsAre(kAllThree[0], kAllThree[1], kAllThree[2])) << job;
    const auto left = routed.order(Route::kConsistentHash, {order[2], order[1]}, job);
    EXPECT_THAT(left, ElementsAre(order[1], order[2])) << job;
  }
}

TEST(Routes, ConsistentHashWrapsAroundItsRing) {
  Routed routed;
  // With places behind all of theirs, and behind all but two.
  for (const std::int64_t job : {769, 448}) {
    EXPECT_EQ(routed.order(Route::kConsistentHash, kAllThree, job), kAllThree) << job;
  }
}

TEST(Routes, LeastFrequentlyUsedBalancesCalls) {
  Routed routed;
  std::map<std::string, int> taken;
  for (int i = 0; i < 300; ++i) ++taken[routed.first(Route::kLeastFrequentlyUsed)];
  // They begin at different counts, less than there are addresses.
  for (const std::string& address : kAllThree) EXPECT_NEAR(taken[address], 100, 3) << address;
}

TEST(Routes, LeastFrequentlyUsedForgetsRemovedAddresses) {
  Routed routed;
  for (int i = 0; i < 30; ++i) routed.first(Route::kLeastFrequentlyUsed);
  routed.first(Route::kLeastFrequentlyUsed, {kAllThree[0], kAllThree[1]});
  // Back again it counts from the start, so that it is taken until it has caught up.
  int taken = 0;
  for (int i = 0; i < 6; ++i) taken += routed.first(Route::kLeastFrequentlyUsed) == kAllThree[2];
  EXPECT_EQ(taken, 6);
}

TEST(Routes, LeastRecentlyUsedTakesTheOldestAndNewAddressesLast) {
  Routed routed;
  const std::vector<std::string> two{kAllThree[1], kAllThree[2]};
  EXPECT_EQ(routed.first(Route::kLeastRecentlyUsed, two), kAllThree[1]);
  EXPECT_EQ(routed.first(Route::kLeastRecentlyUsed), kAllThree[2]);
  EXPECT_EQ(routed.first(Route::kLeastRecentlyUsed), kAllThree[1]);
  EXPECT_EQ(routed.first(Route::kLeastRecentlyUsed), kAllThree[0]);
  EXPECT_THAT(routed.order(Route::kLeastRecentlyUsed),
              ElementsAre(kAllThree[2], kAllThree[1], kAllThree[0]));
}

TEST(Routes, ContinueFromSavedMemory) {
  for (const Route way : {Route::kRound, Route::kLeastFrequentlyUsed, Route::kLeastRecentlyUsed}) {
    Routed routed;
    for (int i = 0; i < 5; ++i) routed.order(way);
    const std::string text = routed.memory.to_text();
    EXPECT_EQ(RouteMemory::from_text(text), routed.memory) << text;
    EXPECT_NE(text, "");
  }
  EXPECT_EQ(RouteMemory{}.to_text(), "");
  for (const char* text : {"", "x", "3\n7", "3\n7 x y", "9999999999999999999"}) {
    EXPECT_EQ(RouteMemory::from_text(text), RouteMemory{}) << text;
  }
}

TEST(Routes, ChooseTheOnlyAddress) {
  Routed routed;
  for (int way = 0; way <= static_cast<int>(Route::kShardingBroadcast); ++way) {
    EXPECT_THAT(routed.order(static_cast<Route>(way), {kAllThree[1]}), ElementsAre(kAllThree[1]))
        << way;
  }
}

}  // namespace
}  // namespace carillon::jobtracker
