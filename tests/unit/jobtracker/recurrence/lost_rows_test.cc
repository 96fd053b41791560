#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// Schedules whose next run is gone from the store, by whatever accident: they go on.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::job_every;
using carillon::testing::job_fixed_delay;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// As no transaction of ours does it.
void lose_rows(const TrackerBundle& bundle, const std::string& task_id) {
  auto& tables = const_cast<MemoryTables&>(bundle.tables());
  for (const WaitingJob& job : bundle.waiting(task_id)) tables.waiting.at(job.group).erase(job.id);
  for (const WaitingJob& job : bundle.delayed()) {
    if (job.task_id == task_id) tables.delayed.erase(job.id);
  }
}

TEST(LostRows, ScheduleContinuesAfterARestart) {
  for (const Duration interval : {Duration{minutes{5}}, Duration{hours{2}}}) {
    TrackerBundle bundle;
    bundle.add_worker();
    bundle.submit(job_every("a", interval));
    bundle.run_for(seconds{30});
    ASSERT_THAT(bundle.runs(), SizeIs(1));
    bundle.kill_tracker();
    lose_rows(bundle, "a");
    ASSERT_THAT(bundle.waiting("a"), IsEmpty());
    ASSERT_THAT(bundle.delayed(), IsEmpty());
    bundle.start_tracker();
    bundle.run_for(4 * interval + minutes{20});
    EXPECT_GE(bundle.runs().size(), 4U) << bundle.story("a");
    EXPECT_LE(bundle.waiting("a").size() + bundle.delayed().size(), 1U);
  }
}

TEST(LostRows, ScheduleContinuesWithoutARestart) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit({job_every("a", minutes{5}), job_fixed_delay("b", minutes{5})});
  bundle.run_for(seconds{30});
  ASSERT_THAT(bundle.runs(), SizeIs(2));
  lose_rows(bundle, "a");
  lose_rows(bundle, "b");
  bundle.run_for(hours{1});
  for (const char* task : {"a", "b"}) {
    EXPECT_GE(bundle.runs_of(task).size(), 8U) << bundle.story(task);
    EXPECT_THAT(bundle.waiting(task), SizeIs(1));
  }
}

TEST(LostRows, JobCancelledWhileRunningCanReuseItsTaskId) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 2});
  worker.behaviour = [](const auto&, const JobSpec&) { return FakeRun{.time = minutes{3}}; };
  bundle.submit(job_every("a", minutes{10}));
  bundle.run_for(seconds{5});
  worker.lose_frames(true);  // It does not hear that its run is cancelled.
  bundle.act(wire::Verb::kCancel, "a");
  bundle.restart_after(milliseconds{100});
  JobSpec again = job_every("a", minutes{10});
  again.schedule.first = bundle.now() + seconds{10};  // The run before has ended by then.
  EXPECT_EQ(bundle.submit(again).status, wire::SubmitStatus::kAccepted);
  worker.lose_frames(false);
  bundle.run_for(minutes{35});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(5)) << bundle.story("a");
  EXPECT_EQ(bundle.waiting("a").size() + bundle.delayed().size(), 1U);
}

}  // namespace
}  // namespace carillon::jobtracker
