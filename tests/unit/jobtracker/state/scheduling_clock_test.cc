#include "jobtracker/state/scheduling_clock.h"

#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace carillon::jobtracker {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct ClockBundle {
  ClockBundle() { set_log_level(LogLevel::kOff); }

  // Adjusts every 200 ms. True: the time was set once.
  bool run_for(Duration time) {
    bool was_set = false;
    for (Duration gone{}; gone < time; gone += milliseconds{200}) {
      clock.advance(milliseconds{200});
      const WallTime before = scheduling.now();
      if (scheduling.adjust() != Duration{}) {
        EXPECT_FALSE(was_set);
        was_set = true;
      } else {
        EXPECT_GE(scheduling.now(), before - milliseconds{2});
      }
    }
    return was_set;
  }

  ManualClock clock;
  Logger log{"test"};
  SchedulingClock scheduling{clock, log};
};

TEST(SchedulingClock, FollowsASmallStepSlowlyAndNeverMovesBack) {
  ClockBundle bundle;
  bundle.clock.set_wall(bundle.clock.wall_now() - seconds{1});
  WallTime last = bundle.scheduling.now();
  for (int i = 0; i < 1000; ++i) {
    bundle.clock.advance(milliseconds{200});
    EXPECT_EQ(bundle.scheduling.adjust(), Duration{});
    ASSERT_GT(bundle.scheduling.now(), last);
    last = bundle.scheduling.now();
  }
  EXPECT_EQ(bundle.scheduling.now(), bundle.clock.wall_now());
}

TEST(SchedulingClock, AcceptsAnHourForwardAfterTwoSeconds) {
  ClockBundle bundle;
  bundle.clock.set_wall(bundle.clock.wall_now() + hours{1});
  EXPECT_FALSE(bundle.run_for(milliseconds{1800}));
  EXPECT_TRUE(bundle.run_for(seconds{1}));
  EXPECT_EQ(bundle.scheduling.now(), bundle.clock.wall_now());
}

TEST(SchedulingClock, AcceptsAnHourBackAfterTwoSeconds) {
  ClockBundle bundle;
  bundle.clock.set_wall(bundle.clock.wall_now() - hours{1});
  EXPECT_TRUE(bundle.run_for(seconds{3}));
  EXPECT_EQ(bundle.scheduling.now(), bundle.clock.wall_now());
}

TEST(SchedulingClock, IgnoresAJumpThatIsReverted) {
  ClockBundle bundle;
  const WallTime before = bundle.clock.wall_now();
  bundle.clock.set_wall(before + hours{1});
  EXPECT_FALSE(bundle.run_for(seconds{1}));
  bundle.clock.set_wall(before + seconds{1});
  EXPECT_FALSE(bundle.run_for(seconds{10}));
  EXPECT_EQ(bundle.scheduling.now(), bundle.clock.wall_now());
}

// A clock that is the same as the bundle's, read over a line that is slow to answer.
struct FollowingBundle : ClockBundle {
  // As it is read if the answer, not the question, takes that long.
  void read(Duration answer_took, Duration ahead = {}) {
    const auto shown = clock.wall_now() + ahead;
    clock.advance(answer_took);
    scheduling.follow(shown, clock.steady_now() - answer_took / 2, answer_took);
    (void)scheduling.adjust();
  }
  Duration error() const { return std::chrono::abs(scheduling.now() - clock.wall_now()); }
};

TEST(SchedulingClock, FollowsTheBestReadingOfAnotherClock) {
  FollowingBundle bundle;
  bundle.read(milliseconds{40});
  EXPECT_EQ(bundle.error(), milliseconds{20}) << "it is known no better";
  bundle.read(milliseconds{1});
  bundle.run_for(seconds{3});
  EXPECT_LE(bundle.error(), milliseconds{1});
  for (int i = 0; i < 60; ++i) {
    bundle.read(milliseconds{40});
    bundle.run_for(seconds{1});
    ASSERT_LE(bundle.error(), milliseconds{1});
  }
}

TEST(SchedulingClock, FollowsAChangedClockDespiteSlowReadings) {
  FollowingBundle bundle;
  bundle.read(milliseconds{1});
  for (int i = 0; i < 4; ++i) {
    bundle.read(seconds{2}, hours{1});
    bundle.run_for(seconds{1});
  }
  EXPECT_GE(bundle.scheduling.now(), bundle.clock.wall_now() + hours{1} - seconds{2});
}

TEST(SchedulingClock, FollowsAClockThatRunsAtADifferentRate) {
  FollowingBundle bundle;
  bundle.read(milliseconds{1});
  for (int i = 0; i < 1000; ++i) {
    bundle.run_for(seconds{1});
    bundle.read(milliseconds{40}, std::chrono::microseconds{50} * i);
  }
  EXPECT_LE(bundle.error(), milliseconds{50 + 40}) << "of one that has gone ahead by 50 ms";
  EXPECT_GE(bundle.scheduling.now(), bundle.clock.wall_now() + milliseconds{50 - 40});
}

TEST(SchedulingClock, ConvertsAWallTimeToASteadyTime) {
  ClockBundle bundle;
  const WallTime when = bundle.scheduling.now() + seconds{5};
  const SteadyTime at = bundle.scheduling.steady_at(when);
  EXPECT_GE(at - bundle.clock.steady_now(), seconds{5});
  EXPECT_LE(at - bundle.clock.steady_now(), seconds{5} + milliseconds{1});
}

}  // namespace
}  // namespace carillon::jobtracker
