#include "jobtracker/cluster/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::SizeIs;

constexpr SessionId kUs{1};
constexpr SessionId kOther{2};

// We look each 100 ms, at ourselves and one other.
struct MembershipBundle {
  MembershipBundle() {
    owned.set();
    membership.begin(kUs, owned, now);
    view.trackers = {{.session = kUs, .name = "us"}};
    view.owners.fill(kUs);
    for (std::size_t i = 1; i <= 4; ++i) view.used.set(i);
  }
  ClusterMove look(bool other_heartbeats = true) {
    now += milliseconds{100};
    other_batch += other_heartbeats ? 1 : 0;
    view.heartbeats.clear();
    for (const ClusterView::Tracker& one : view.trackers) {
      view.heartbeats.push_back({.session = one.session,
                                 .name = one.name,
                                 .batch = one.session == kOther ? other_batch : 0});
    }
    view.asked = now;
    view.answered = now + milliseconds{1};
    return membership.saw(view, may_give, definitions);
  }
  std::optional<OwnershipChange> look_for(Duration time, bool other_heartbeats = true) {
    for (Duration gone{}; gone < time; gone += milliseconds{100}) {
      if (auto move = look(other_heartbeats); move.change) return move.change;
    }
    return std::nullopt;
  }
  void other_comes() { view.trackers.push_back({.session = kOther, .name = "other"}); }
  void give(std::size_t partition, SessionId owner) { view.owners[partition] = owner; }

  Logger log{"test"};
  Membership membership{log};
  SteadyTime now{seconds{1000}};
  Partitions owned{};
  ClusterView view{};
  std::int64_t other_batch = 1;
  bool may_give = true;
  DefinitionCounts definitions{};  // of all partitions
};

TEST(Membership, SingleJobTrackerKeepsAllPartitions) {
  MembershipBundle b;
  EXPECT_FALSE(b.look_for(seconds{30}));
}

TEST(Membership, GivesPartitionsToANewJobTrackerAfterADelay) {
  MembershipBundle b;
  EXPECT_FALSE(b.look_for(seconds{3}));
  b.other_comes();
  EXPECT_FALSE(b.look_for(milliseconds{1900}));
  const auto change = b.look_for(seconds{1});
  ASSERT_TRUE(change);
  EXPECT_EQ((change->wanted & b.view.used).count(), 2U);
  EXPECT_TRUE(change->silent.empty());
}

TEST(Membership, AnnouncesAHandoverHalfASecondInAdvance) {
  MembershipBundle b;
  b.other_comes();
  ClusterMove move;
  SteadyTime said{};
  while (!move.change && b.now < SteadyTime{seconds{1010}}) {
    move = b.look();
    if (move.yields && said == SteadyTime{}) said = b.now;
    EXPECT_EQ(move.yields, said != SteadyTime{});
  }
  ASSERT_TRUE(move.change);
  EXPECT_EQ(b.now - said, kNotice);
}

TEST(Membership, LeavesInPortionsAndWaitsUntilEachIsTaken) {
  MembershipBundle b;
  b.other_comes();
  b.look();
  for (std::size_t i = 1; i <= 4; ++i) b.definitions[i] = kPortion / 2;
  const SteadyTime began = b.now;
  b.membership.leave(began, began + seconds{3});
  auto change = b.look_for(seconds{5});
  ASSERT_TRUE(change);
  EXPECT_GE(b.now - began, kNotice);
  EXPECT_FALSE(change->wanted.test(1) || change->wanted.test(2));
  EXPECT_TRUE(change->wanted.test(3) && change->wanted.test(4)) << "one portion at a time";

  b.membership.begin(kUs, change->wanted, b.now);
  for (const std::size_t i : {1U, 2U}) b.give(i, SessionId{});
  const SteadyTime portion = b.now;
  EXPECT_FALSE(b.look_for(milliseconds{1500})) << "nobody has taken it yet";
  for (const std::size_t i : {1U, 2U}) b.give(i, kOther);
  ClusterMove move;
  while (!move.ends && b.now < portion + seconds{10}) {
    move = b.look();
    EXPECT_FALSE(move.change);
  }
  EXPECT_TRUE(move.ends) << "the rest is a portion";
  EXPECT_GE(b.now - portion, milliseconds{1500} + kPortionPause);
}

TEST(Membership, GivesNothingWhileATaskTrackerMayBeDead) {
  MembershipBundle b;
  b.other_comes();
  b.may_give = false;
  EXPECT_FALSE(b.look_for(seconds{5}));
  b.may_give = true;
  ASSERT_TRUE(b.look().yields);
  b.may_give = false;
  EXPECT_FALSE(b.look().yields);
  EXPECT_FALSE(b.look_for(seconds{1}));
  b.may_give = true;
  EXPECT_TRUE(b.look_for(seconds{1}));
}

TEST(Membership, CancelsAHandoverWhenTheOtherJobTrackerLeaves) {
  MembershipBundle b;
  b.other_comes();
  ASSERT_FALSE(b.look_for(milliseconds{2200}));
  ASSERT_TRUE(b.look().yields);
  b.view.trackers.pop_back();
  EXPECT_FALSE(b.look().yields);
  EXPECT_FALSE(b.look_for(seconds{5}));
  // What was said then says nothing of the next.
  b.other_comes();
  ClusterMove move;
  for (int looks = 0; looks < 50 && !move.yields; ++looks) move = b.look();
  EXPECT_TRUE(move.yields);
  EXPECT_FALSE(move.change);
}

TEST(Membership, PreparesWhileAnotherJobTrackerAnnouncesAHandover) {
  MembershipBundle b;
  b.other_comes();
  b.give(3, kOther);
  b.owned.reset(3);
  b.membership.begin(kUs, b.owned, b.now);
  EXPECT_FALSE(b.look().is_unsettled);
  b.view.trackers.back().yields = true;
  const auto move = b.look();
  EXPECT_TRUE(move.prepares);
  EXPECT_TRUE(move.is_unsettled);
  EXPECT_FALSE(move.change);
  b.view.trackers.pop_back();
  b.give(3, SessionId{});
  const auto then = b.look();
  ASSERT_TRUE(then.change);
  EXPECT_TRUE(then.change->wanted.test(3));
}

TEST(Membership, GivesNothingToAJobTrackerThatHandsOver) {
  MembershipBundle b;
  b.other_comes();
  b.view.trackers.back().yields = true;
  b.give(3, SessionId{});
  b.owned.reset(3);
  b.membership.begin(kUs, b.owned, b.now);
  const auto move = b.look();
  ASSERT_TRUE(move.change);
  EXPECT_TRUE(move.change->wanted.test(3));
  // Nor is it given what it has less.
  b.give(3, kUs);
  b.membership.begin(kUs, all_partitions(), b.now);
  EXPECT_FALSE(b.look_for(seconds{5}));
}

TEST(Membership, TakesPartitionsOfASilentJobTrackerAndFencesIt) {
  MembershipBundle b;
  b.other_comes();
  // Each has half of all, so that nobody gives anything away.
  const Partitions others = Partitions{0b110} | all_partitions() << 34;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (others.test(i)) b.give(i, kOther);
  }
  b.owned &= ~others;
  b.membership.begin(kUs, b.owned, b.now);
  EXPECT_FALSE(b.look_for(seconds{1}));
  EXPECT_FALSE(b.look_for(milliseconds{1400}, false));
  const auto change = b.look_for(milliseconds{400}, false);
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->wanted.all());
  EXPECT_THAT(change->silent, SizeIs(1));
}

TEST(Membership, FencesASilentJobTrackerWithoutPartitions) {
  MembershipBundle b;
  b.other_comes();
  // It is silent after 1.5 s, and might have been started again two seconds later.
  EXPECT_FALSE(b.look_for(milliseconds{3500}, false));
  const auto change = b.look_for(milliseconds{300}, false);
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->wanted.all());
  EXPECT_THAT(change->silent, ElementsAre(Field(&SessionHeartbeat::session, kOther)));
}

TEST(Membership, LetsALowerSessionFenceASilentJobTrackerFirst) {
  constexpr SessionId kHigher{3};
  constexpr SessionId kSilent{4};
  MembershipBundle b;
  b.view.trackers = {{.session = kOther}, {.session = kHigher}, {.session = kSilent}};
  b.owned = Partitions{0b110} | all_partitions() << 34;
  for (std::size_t i = 0; i < b.owned.size(); ++i) b.give(i, b.owned.test(i) ? kHigher : kOther);
  b.membership.begin(kHigher, b.owned, b.now);
  EXPECT_FALSE(b.look_for(milliseconds{4200}));
  const auto change = b.look_for(milliseconds{400});
  ASSERT_TRUE(change);
  EXPECT_EQ(change->wanted, b.owned);
  EXPECT_THAT(change->silent, ElementsAre(Field(&SessionHeartbeat::session, kSilent)));
}

TEST(Membership, LeavesAnotherJobTrackersFreePartitionsAloneForADelay) {
  MembershipBundle b;
  b.other_comes();
  b.give(3, SessionId{});
  b.owned.reset(3);
  b.membership.begin(kUs, b.owned, b.now);
  const auto move = b.look();
  EXPECT_TRUE(move.is_unsettled);
  EXPECT_FALSE(move.prepares);
  EXPECT_FALSE(b.look_for(milliseconds{500}));
  const auto change = b.look_for(milliseconds{300});
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->wanted.test(3));
  EXPECT_TRUE(change->silent.empty());
}

}  // namespace
}  // namespace carillon::jobtracker
