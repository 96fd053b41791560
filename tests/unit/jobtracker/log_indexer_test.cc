#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

namespace carillon::jobtracker {
namespace {

using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::seconds;

TEST(LogIndexer, AddsRowsOfTheLogSomeTimeAfterTheyWereWritten) {
  TrackerBundle::Options options;
  options.tracker.log_index.rows = 10;
  TrackerBundle bundle(options);
  bundle.add_worker({.threads = 4});
  for (int i = 0; i < 45; ++i) bundle.submit({job_now("task-" + std::to_string(i))});
  bundle.run_for(seconds{60});
  const auto& tables = bundle.database.tables();
  ASSERT_EQ(tables.log.size(), 45U);
  EXPECT_EQ(tables.log_index.slice_rows, 40);
}

}  // namespace
}  // namespace carillon::jobtracker
