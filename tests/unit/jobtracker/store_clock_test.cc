#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

namespace carillon::testing {
namespace {

using std::chrono::hours;
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

TEST(StoreClock, SaysWhatIsDue) {
  StoreClockBundle bundle(hours{1});
  bundle.submit(job_at("soon", bundle.now() + hours{1} + seconds{3}));
  bundle.run_for(seconds{2});
  EXPECT_TRUE(bundle.runs_of("soon").empty());
  bundle.run_for(seconds{2});
  EXPECT_EQ(bundle.runs_of("soon").size(), 1u);
}

TEST(StoreClock, SaysItFromTheStartOn) {
  StoreClockBundle bundle(-hours{1});
  bundle.submit(job_at("in an hour", bundle.now()));
  bundle.run_for(seconds{5});
  EXPECT_TRUE(bundle.runs_of("in an hour").empty());
}

TEST(StoreClock, ThisMachinesClockMayBeSet) {
  StoreClockBundle bundle(Duration{});
  bundle.submit(job_at("soon", bundle.now() + seconds{20}));
  bundle.clock.set_wall(bundle.now() + hours{1});
  bundle.database.set_clock_ahead(-hours{1});
  bundle.run_for(seconds{18});
  EXPECT_TRUE(bundle.runs_of("soon").empty());
  bundle.run_for(seconds{3});
  EXPECT_EQ(bundle.runs_of("soon").size(), 1u);
}

TEST(StoreClock, IsBelievedWhenItIsSetItself) {
  StoreClockBundle bundle(Duration{});
  bundle.submit(job_at("later", bundle.now() + hours{1}));
  bundle.database.set_clock_ahead(hours{1});
  bundle.run_for(seconds{5});
  EXPECT_EQ(bundle.runs_of("later").size(), 1u);
}

}  // namespace
}  // namespace carillon::testing
