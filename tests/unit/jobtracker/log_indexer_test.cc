#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

namespace carillon::jobtracker {
namespace {

using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::seconds;

constexpr std::size_t kJobs = 45;

void run_jobs(TrackerBundle& bundle) {
  bundle.add_worker({.threads = 4});
  for (std::size_t i = 0; i < kJobs; ++i) bundle.submit({job_now("task-" + std::to_string(i))});
  bundle.run_for(seconds{60});
  ASSERT_EQ(bundle.tables().log.size(), kJobs);
}

TEST(LogIndexer, IndexesLogRowsInSlicesAfterADelay) {
  TrackerBundle::Options options;
  options.tracker.log_index.rows = 10;
  TrackerBundle bundle(options);
  run_jobs(bundle);
  EXPECT_EQ(bundle.tables().log_index.slice_rows, 40);
}

TEST(LogIndexer, GoesOnWhileAnotherJobTrackerIsIdle) {
  TrackerBundle::Options options;
  options.tracker.log_index.rows = 10;
  options.wanted = Partitions{}.set(0).set(1);
  TrackerBundle busy(options);
  TrackerBundle idle{{.wanted = Partitions{}.set(2), .beside = &busy}};
  run_jobs(busy);
  EXPECT_EQ(busy.tables().log_index.slice_rows, 40);
}

}  // namespace
}  // namespace carillon::jobtracker
