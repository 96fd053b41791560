#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// Fires that are made ahead of their time, by a job tracker that has just started.
namespace carillon::jobtracker {
namespace {

using carillon::testing::job_every;
using carillon::testing::TrackerBundle;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Generation, StaysBelowItsCapAfterARestart) {
  TrackerBundle bundle({.tracker = {.recurrence = {.rows_max = 600}}});
  for (const Duration interval : {Duration{milliseconds{250}}, Duration{seconds{7}}}) {
    JobSpec job = job_every("a" + std::to_string(interval.count()), interval);
    job.overlap = Overlap::kParallel;
    bundle.submit(job);
  }
  bundle.add_worker({.threads = 16});
  bundle.run_for(minutes{10});
  for (int restart = 0; restart < 5; ++restart) {
    bundle.restart_after(milliseconds{100});
    bundle.run_for(seconds{5});
    EXPECT_LE(bundle.waiting().size(), 700U);
    bundle.run_for(minutes{2});
    EXPECT_GE(bundle.waiting().size(), 330U);
  }
}

// On a store that is slow, with more schedules than have rows under way at a time.
TEST(Generation, NoScheduleRunsDryAfterStartingOnASlowStore) {
  TrackerBundle bundle;
  const WallTime begin = std::chrono::ceil<minutes>(bundle.now());
  const auto submit = [&](const std::string& task_id, Duration interval, WallTime first) {
    JobSpec job = job_every(task_id, interval);
    job.schedule.first = first;
    job.misfire.threshold = minutes{5};
    job.overlap = Overlap::kParallel;
    bundle.submit(job);
  };
  for (int i = 0; i < 1000; ++i) submit("often-" + std::to_string(i), seconds{3}, begin);
  for (int i = 0; i < 30; ++i) submit("rare-" + std::to_string(i), seconds{30}, begin + seconds{i});
  const auto left = [&] { return bundle.definition("often-7")->generated_through - bundle.now(); };
  bundle.run_for(seconds{15});
  while (left() >= seconds{75}) bundle.run_for(seconds{1});
  bundle.kill_tracker();
  bundle.run_for(left() - seconds{18});
  bundle.on_connection = [](carillon::testing::FakeStoreConnection& connection) {
    connection.work_time = [] { return seconds{1}; };
  };
  bundle.start_tracker();
  int late = 0;
  for (int second = 0; second < 60; ++second) {
    bundle.run_for(seconds{1});
    for (int i = 0; i < 30; ++i)
      late += bundle.definition("rare-" + std::to_string(i))->next_fire < bundle.now() ? 1 : 0;
  }
  EXPECT_EQ(late, 0);
}

}  // namespace
}  // namespace carillon::jobtracker
