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
      if (scheduling.adjust()) {
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

TEST(SchedulingClock, FollowsASmallStepSlowlyAndNeverGoesBack) {
  ClockBundle bundle;
  bundle.clock.set_wall(bundle.clock.wall_now() - seconds{1});
  WallTime last = bundle.scheduling.now();
  for (int i = 0; i < 1000; ++i) {
    bundle.clock.advance(milliseconds{200});
    EXPECT_FALSE(bundle.scheduling.adjust());
    ASSERT_GT(bundle.scheduling.now(), last);
    last = bundle.scheduling.now();
  }
  EXPECT_EQ(bundle.scheduling.now(), bundle.clock.wall_now());
}

TEST(SchedulingClock, BelievesAnHourForwardAfterTwoSeconds) {
  ClockBundle bundle;
  bundle.clock.set_wall(bundle.clock.wall_now() + hours{1});
  EXPECT_FALSE(bundle.run_for(milliseconds{1800}));
  EXPECT_TRUE(bundle.run_for(seconds{1}));
  EXPECT_EQ(bundle.scheduling.now(), bundle.clock.wall_now());
}

TEST(SchedulingClock, BelievesAnHourBackAfterTwoSeconds) {
  ClockBundle bundle;
  bundle.clock.set_wall(bundle.clock.wall_now() - hours{1});
  EXPECT_TRUE(bundle.run_for(seconds{3}));
  EXPECT_EQ(bundle.scheduling.now(), bundle.clock.wall_now());
}

TEST(SchedulingClock, DoesNotBelieveAJumpThatIsTakenBack) {
  ClockBundle bundle;
  const WallTime before = bundle.clock.wall_now();
  bundle.clock.set_wall(before + hours{1});
  EXPECT_FALSE(bundle.run_for(seconds{1}));
  bundle.clock.set_wall(before + seconds{1});
  EXPECT_FALSE(bundle.run_for(seconds{10}));
  EXPECT_EQ(bundle.scheduling.now(), bundle.clock.wall_now());
}

TEST(SchedulingClock, SaysWhenATimeWillBe) {
  ClockBundle bundle;
  const WallTime when = bundle.scheduling.now() + seconds{5};
  const SteadyTime at = bundle.scheduling.steady_at(when);
  EXPECT_GE(at - bundle.clock.steady_now(), seconds{5});
  EXPECT_LE(at - bundle.clock.steady_now(), seconds{5} + milliseconds{1});
}

}  // namespace
}  // namespace carillon::jobtracker
