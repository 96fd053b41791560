#include "jobtracker/cluster/assignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/random.h"

namespace carillon::jobtracker {
namespace {

using std::chrono::seconds;

constexpr SessionId kA{1};
constexpr SessionId kB{2};
constexpr SessionId kC{3};

struct Cluster {
  std::vector<SessionId> trackers{};
  std::vector<PartitionShare> partitions{std::vector<PartitionShare>(kPartitions)};

  int used_of(SessionId tracker) const { return count(tracker, true); }
  int all_of(SessionId tracker) const { return count(tracker, true) + count(tracker, false); }
  int count(SessionId tracker, bool used) const {
    int all = 0;
    for (const PartitionShare& one : partitions) {
      all += one.owner == tracker && one.is_used == used ? 1 : 0;
    }
    return all;
  }
  void set_owner(const Partitions& which, SessionId owner) {
    for (std::size_t i = 0; i < partitions.size(); ++i) {
      if (which.test(i)) partitions[i].owner = owner;
    }
  }
  // Everybody does what falls to him until nobody has anything to do. How often something moved.
  int settle() {
    for (int moves = 0; moves < 1000; ++moves) {
      bool moved = false;
      for (const SessionId us : trackers) {
        const Partitions taken = to_take(us, trackers, partitions, Duration{});
        set_owner(taken, us);
        moved = moved || taken.any();
      }
      for (const SessionId us : trackers) {
        if (moved) break;
        const Partitions given = to_give(us, trackers, partitions);
        set_owner(given, SessionId{});
        moved = given.any();
      }
      if (!moved) return moves;
    }
    return -1;
  }
};

TEST(Assignment, SingleJobTrackerTakesAllPartitions) {
  Cluster cluster{.trackers = {kA}};
  EXPECT_EQ(to_take(kA, cluster.trackers, cluster.partitions, Duration{}), all_partitions());
  EXPECT_TRUE(to_give(kA, cluster.trackers, cluster.partitions).none());
}

TEST(Assignment, AnotherJobTrackersPartitionIsTakenOnlyAfterADelay) {
  Cluster cluster{.trackers = {kA, kB}};
  cluster.set_owner(all_partitions(), kA);
  cluster.partitions[5] = {.is_used = true};
  EXPECT_TRUE(to_take(kA, cluster.trackers, cluster.partitions, Duration{}).none());
  EXPECT_TRUE(to_take(kB, cluster.trackers, cluster.partitions, Duration{}).test(5));
  EXPECT_TRUE(to_take(kA, cluster.trackers, cluster.partitions, kOthersTurn).test(5));
}

TEST(Assignment, NewJobTrackerGetsHalfOfTheUsedPartitions) {
  Cluster cluster{.trackers = {kA, kB}};
  cluster.set_owner(all_partitions(), kA);
  for (std::size_t i = 1; i <= 4; ++i) cluster.partitions[i].is_used = true;
  cluster.settle();
  EXPECT_EQ(cluster.used_of(kA), 2);
  EXPECT_EQ(cluster.used_of(kB), 2);
  EXPECT_EQ(cluster.all_of(kA), cluster.all_of(kB));
}

TEST(Assignment, SingleUsedPartitionKeepsItsOwner) {
  Cluster cluster{.trackers = {kA, kB}};
  cluster.set_owner(all_partitions(), kB);
  cluster.partitions[1].is_used = true;
  cluster.settle();
  EXPECT_EQ(cluster.used_of(kB), 1);
}

TEST(Assignment, DeadJobTrackerTakesAndGivesNoPartitions) {
  Cluster cluster{.trackers = {kA, kB}};
  EXPECT_TRUE(to_take(kC, cluster.trackers, cluster.partitions, seconds{9}).none());
  EXPECT_TRUE(to_give(kC, cluster.trackers, cluster.partitions).none());
}

TEST(Assignment, RandomClustersSettleEvenlyInFewMoves) {
  SeededRandom random(7);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    Cluster cluster;
    const auto trackers = 1 + random.next() % 6;
    for (std::uint64_t i = 1; i <= trackers; ++i)
      cluster.trackers.push_back(SessionId{static_cast<std::int64_t>(i)});
    int used = 0;
    for (PartitionShare& one : cluster.partitions) {
      one.owner = SessionId{static_cast<std::int64_t>(random.next() % (trackers + 2))};
      if (one.owner.value > static_cast<std::int64_t>(trackers)) one.owner = {};
      one.is_used = random.next() % 3 == 0;
      used += one.is_used ? 1 : 0;
    }
    const int moves = cluster.settle();
    ASSERT_GE(moves, 0) << "it never came to rest";
    EXPECT_LE(moves, 40);
    for (const SessionId tracker : cluster.trackers) {
      EXPECT_NEAR(cluster.used_of(tracker), used / static_cast<double>(trackers), 2.0);
    }
  }
}

}  // namespace
}  // namespace carillon::jobtracker
