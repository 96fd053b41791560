#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// What is due beyond ten minutes waits in the delayed table.
namespace carillon::jobtracker {
namespace {

using carillon::testing::job_at;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The read that was sent before knows only what was near then, and the next pass comes too late.
TEST(Promotion, ReadsAgainAfterAStoreOutageDuringAPass) {
  TrackerBundle bundle(
      {.tracker = {.recurrence = {.horizon = seconds{60}, .period = seconds{50}}}});
  bundle.add_worker();
  const WallTime pass = bundle.now() + seconds{50};
  const WallTime at = pass + seconds{75};
  bundle.submit(job_at("a", at));
  bundle.run_to(pass - seconds{1});
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{71};
  bundle.run_to(at + seconds{1});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(1));
  EXPECT_LT(bundle.runs_of("a")[0].started_wall - at, seconds{1});
}

TEST(Promotion, FindsJobsStoredAfterItsRead) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.run_for(minutes{7} + seconds{45});
  // The store stands still, and has another commit to do first, and then to look for what comes
  // near in the nineteenth minute; what is submitted now is stored after that.
  bundle.connection().away_until = bundle.clock.steady_now() + minutes{3};
  bundle.client.submit({job_now("before")});
  bundle.run_for(seconds{1});
  const WallTime at = bundle.now() + minutes{10} + seconds{5};
  bundle.client.submit({job_at("a", at)});
  bundle.run_for(minutes{3} + seconds{1});
  EXPECT_THAT(bundle.delayed(), IsEmpty());
  bundle.run_to(at + seconds{1});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(1));
  EXPECT_LT(bundle.runs_of("a")[0].started_wall - at, seconds{1});
}

}  // namespace
}  // namespace carillon::jobtracker
