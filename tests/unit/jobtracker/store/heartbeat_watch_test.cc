#include "jobtracker/store/heartbeat_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

SessionHeartbeat heartbeat_of_session(std::int64_t session, std::int64_t batch) {
  return {
      .session = SessionId{session}, .name = "tracker-" + std::to_string(session), .batch = batch};
}

// A watch that looks and is answered after 10 ms.
struct WatchBundle {
  void look(std::vector<SessionHeartbeat> heartbeats) {
    watch.saw(heartbeats, now, now + milliseconds{10});
    now += milliseconds{10};
  }
  // So many looks, 400 ms apart, that show the same.
  void look_on(int times, const std::vector<SessionHeartbeat>& heartbeats) {
    for (int i = 0; i < times; ++i) {
      now += milliseconds{390};
      look(heartbeats);
    }
  }

  SteadyTime now{seconds{1000}};
  HeartbeatWatch watch;
};

TEST(HeartbeatWatch, ReportsASessionSilentAfter1500MillisecondsWithoutAHeartbeat) {
  WatchBundle b;
  b.look({heartbeat_of_session(1, 5)});
  b.look_on(3, {heartbeat_of_session(1, 5)});
  EXPECT_FALSE(b.watch.are_all_silent());
  b.look_on(1, {heartbeat_of_session(1, 5)});
  EXPECT_TRUE(b.watch.are_all_silent());
  EXPECT_EQ(b.watch.working(), nullptr);
  EXPECT_THAT(b.watch.silent_heartbeats(), ElementsAre(heartbeat_of_session(1, 5)));
}

TEST(HeartbeatWatch, WaitsForTheConfiguredSilence) {
  WatchBundle b;
  b.watch = HeartbeatWatch{seconds{4}};
  b.look({heartbeat_of_session(1, 5)});
  b.look_on(10, {heartbeat_of_session(1, 5)});
  EXPECT_FALSE(b.watch.is_silent(SessionId{1}));
  b.look_on(1, {heartbeat_of_session(1, 5)});
  EXPECT_TRUE(b.watch.is_silent(SessionId{1}));
}

TEST(HeartbeatWatch, MeasuresSilenceFromAnAnswerToTheNextQuery) {
  HeartbeatWatch watch;
  const SteadyTime start{seconds{1000}};
  watch.saw({heartbeat_of_session(1, 5)}, start, start + milliseconds{900});
  watch.saw({heartbeat_of_session(1, 5)}, start + milliseconds{1550}, start + milliseconds{1560});
  EXPECT_FALSE(watch.are_all_silent());
}

TEST(HeartbeatWatch, NamesAWorkingSession) {
  WatchBundle b;
  b.look({heartbeat_of_session(1, 5), heartbeat_of_session(2, 1)});
  EXPECT_EQ(b.watch.working(), nullptr);
  b.look_on(1, {heartbeat_of_session(1, 6), heartbeat_of_session(2, 1)});
  ASSERT_NE(b.watch.working(), nullptr);
  EXPECT_EQ(b.watch.working()->name, "tracker-1");
}

TEST(HeartbeatWatch, CountsALaterSessionAsWorking) {
  WatchBundle b;
  b.look({});
  EXPECT_TRUE(b.watch.are_all_silent());
  b.look_on(1, {heartbeat_of_session(3, 0)});
  EXPECT_FALSE(b.watch.are_all_silent());
  ASSERT_NE(b.watch.working(), nullptr);
  EXPECT_EQ(b.watch.working()->name, "tracker-3");
}

TEST(HeartbeatWatch, TracksTheSilenceOfEachSessionSeparately) {
  WatchBundle b;
  b.look({heartbeat_of_session(1, 5), heartbeat_of_session(2, 1)});
  for (std::int64_t batch = 6; batch < 12; ++batch) {
    b.look_on(1, {heartbeat_of_session(1, batch), heartbeat_of_session(2, 1)});
  }
  EXPECT_FALSE(b.watch.are_all_silent());
  b.look_on(4, {heartbeat_of_session(1, 11), heartbeat_of_session(2, 1)});
  EXPECT_TRUE(b.watch.are_all_silent());
}

TEST(HeartbeatWatch, AdvancingStoreConnectionKeepsItsSessionAlive) {
  WatchBundle b;
  SessionHeartbeat other = heartbeat_of_session(1, 1);
  other.connection = 1;
  b.look({heartbeat_of_session(1, 5), other});
  for (int i = 0; i < 8; ++i) {
    ++other.batch;
    b.look_on(1, {heartbeat_of_session(1, 5), other});
  }
  EXPECT_FALSE(b.watch.are_all_silent());
}

TEST(HeartbeatWatch, DatabaseOrLocalStallMakesNoSessionSilent) {
  WatchBundle b;
  b.look({heartbeat_of_session(1, 5)});
  b.now += seconds{20};
  b.look({heartbeat_of_session(1, 5)});
  EXPECT_FALSE(b.watch.are_all_silent());
  b.look_on(3, {heartbeat_of_session(1, 5)});
  EXPECT_FALSE(b.watch.are_all_silent());
  b.look_on(1, {heartbeat_of_session(1, 5)});
  EXPECT_TRUE(b.watch.are_all_silent());
}

TEST(HeartbeatWatch, ExcludesOnlyTheStallTimeFromALongSilence) {
  WatchBundle b;
  b.watch = HeartbeatWatch{seconds{60}};
  b.look({heartbeat_of_session(1, 5)});
  const SteadyTime began = b.now;
  Duration gaps{};
  // Each 50 s something stands still for as long as no look may take.
  for (int looks = 1; !b.watch.is_silent(SessionId{1}) && looks < 1000; ++looks) {
    const bool is_gap = looks % 125 == 0;
    if (is_gap) {
      gaps += seconds{2};
      b.now += seconds{2};
      b.look({heartbeat_of_session(1, 5)});
      EXPECT_FALSE(b.watch.is_silent(SessionId{1}));
    }
    b.look_on(1, {heartbeat_of_session(1, 5)});
  }
  EXPECT_EQ(gaps, seconds{2});
  EXPECT_GE(b.now - began, seconds{62});
  EXPECT_LE(b.now - began, seconds{63});
}

// Its heartbeat may have been as old because it stood still likewise, and it has not had its turn
// yet.
TEST(HeartbeatWatch, QuietSessionGetsTheShortestSilenceAfterAStall) {
  WatchBundle b;
  b.watch = HeartbeatWatch{seconds{60}};
  b.look({heartbeat_of_session(1, 5)});
  b.look_on(149, {heartbeat_of_session(1, 5)});
  ASSERT_FALSE(b.watch.is_silent(SessionId{1}));
  b.now += seconds{300};
  b.look({heartbeat_of_session(1, 5)});
  b.look_on(3, {heartbeat_of_session(1, 5)});
  EXPECT_FALSE(b.watch.is_silent(SessionId{1}));
  b.look_on(1, {heartbeat_of_session(1, 5)});
  EXPECT_TRUE(b.watch.is_silent(SessionId{1}));
}

// A look that was answered before this process stood still, and taken after it, shows what was
// then.
TEST(HeartbeatWatch, AnswerOlderThanAStallMakesNoSessionSilent) {
  HeartbeatWatch watch{seconds{60}};
  SteadyTime now{seconds{1000}};
  watch.saw({heartbeat_of_session(1, 5)}, now, now);
  now += seconds{100};  // It stood still, and asks, and stands still again.
  watch.saw({heartbeat_of_session(1, 5)}, now, now + seconds{100});
  EXPECT_FALSE(watch.is_silent(SessionId{1}));
  now += seconds{100};
  watch.saw({heartbeat_of_session(1, 600)}, now + milliseconds{10}, now + milliseconds{20});
  EXPECT_FALSE(watch.is_silent(SessionId{1}));
}

TEST(HeartbeatWatch, ListsSessionsNotYetKnownToWork) {
  WatchBundle b;
  b.look({heartbeat_of_session(1, 5), heartbeat_of_session(2, 1)});
  EXPECT_THAT(b.watch.quiet(), ElementsAre(heartbeat_of_session(1, 5), heartbeat_of_session(2, 1)));
  b.look_on(1, {heartbeat_of_session(1, 6), heartbeat_of_session(2, 1)});
  EXPECT_THAT(b.watch.quiet(), ElementsAre(heartbeat_of_session(2, 1)));
  b.look_on(3, {heartbeat_of_session(1, 6), heartbeat_of_session(2, 1)});
  EXPECT_TRUE(b.watch.is_settled());
}

TEST(HeartbeatWatch, DoesNotWaitForAnEndedSession) {
  WatchBundle b;
  b.look({heartbeat_of_session(1, 5)});
  b.look({});
  EXPECT_TRUE(b.watch.are_all_silent());
}

}  // namespace
}  // namespace carillon::jobtracker
