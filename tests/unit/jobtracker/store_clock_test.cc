#include <set>

#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

namespace carillon::testing {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// A store that several machines share has a clock, and theirs do not matter.
struct StoreClockBundle : TrackerBundle {
  explicit StoreClockBundle(Duration ahead) : TrackerBundle(Options{.start = false}) {
    database.set_clock_ahead(ahead);
    start_tracker();
    run_until([this] { return tracker().is_ready(); });
    add_worker();
  }
};

TEST(StoreClock, DecidesWhichJobsAreDue) {
  StoreClockBundle bundle(hours{1});
  bundle.submit(job_at("soon", bundle.now() + hours{1} + seconds{3}));
  bundle.run_for(seconds{2});
  EXPECT_TRUE(bundle.runs_of("soon").empty());
  bundle.run_for(seconds{2});
  EXPECT_EQ(bundle.runs_of("soon").size(), 1u);
}

TEST(StoreClock, AppliesFromTheStart) {
  StoreClockBundle bundle(-hours{1});
  bundle.submit(job_at("in an hour", bundle.now()));
  bundle.run_for(seconds{5});
  EXPECT_TRUE(bundle.runs_of("in an hour").empty());
}

TEST(StoreClock, IsUnaffectedByAChangedLocalClock) {
  StoreClockBundle bundle(Duration{});
  bundle.submit(job_at("soon", bundle.now() + seconds{20}));
  bundle.clock.set_wall(bundle.now() + hours{1});
  bundle.database.set_clock_ahead(-hours{1});
  bundle.run_for(seconds{18});
  EXPECT_TRUE(bundle.runs_of("soon").empty());
  bundle.run_for(seconds{3});
  EXPECT_EQ(bundle.runs_of("soon").size(), 1u);
}

TEST(StoreClock, IsFollowedWhenItChanges) {
  StoreClockBundle bundle(Duration{});
  bundle.submit(job_at("later", bundle.now() + hours{1}));
  bundle.database.set_clock_ahead(hours{1});
  bundle.run_for(seconds{2});
  EXPECT_TRUE(bundle.runs_of("later").empty());
  bundle.run_for(seconds{2});
  EXPECT_EQ(bundle.runs_of("later").size(), 1u);
}

TEST(StoreClock, JumpEndsNoLeaseAndRepeatsNoFire) {
  for (const Duration ahead : {Duration{hours{1}}, -Duration{hours{1}}}) {
    SCOPED_TRACE(ahead.count());
    StoreClockBundle bundle(Duration{});
    runs_take(bundle.add_worker({.threads = 8}), seconds{10});
    runs_take(*bundle.workers().front(), seconds{10});
    bundle.submit(job_every("tick", seconds{20}));
    bundle.run_for(seconds{50});
    bundle.submit(job_now("long"));
    bundle.run_for(seconds{2});
    const std::size_t ran = bundle.runs_of("tick").size();
    EXPECT_GE(ran, 2u);
    bundle.database.set_clock_ahead(ahead);
    bundle.run_for(minutes{59});
    if (ahead > Duration{}) {
      EXPECT_GE(bundle.runs_of("tick").size(), ran + 3 * 58);
    } else {
      EXPECT_EQ(bundle.runs_of("tick").size(), ran) << "until the clock has caught up";
      bundle.submit(job_now("meanwhile"));
      bundle.run_for(seconds{1});
      EXPECT_EQ(bundle.runs_of("meanwhile").size(), 1u);
      bundle.run_for(minutes{10});
      EXPECT_GE(bundle.runs_of("tick").size(), ran + 3 * 8);
    }
    EXPECT_EQ(bundle.stat("workers_lost_total"), 0);
    EXPECT_EQ(bundle.runs_of("long").size(), 1u);
    std::set<WallTime> fires;
    for (const RunRecord& run : bundle.runs_of("tick")) {
      EXPECT_TRUE(fires.insert(run.trigger_time).second);
    }
  }
}

}  // namespace
}  // namespace carillon::testing
