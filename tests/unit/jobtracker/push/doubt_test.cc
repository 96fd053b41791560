// What a job tracker that died, or was not told, leaves in doubt of pushed runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/jobtracker/push/push_bundle.h"

namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(UncertainRun, UnsentCallWithTimeoutRunsAfterAJobTrackerCrash) {
  for (const seconds timeout : {seconds{0}, seconds{30}, seconds{120}}) {
    SCOPED_TRACE(timeout.count());
    Pushed test;
    auto& one = test.executor(kOne);
    test.keep_registering(kOne);
    one.is_full = true;  // all connections busy: the call is stored and waits
    JobSpec job = pushed("orders");
    job.timeout = timeout;
    ASSERT_EQ(test.submit(job).status, wire::SubmitStatus::kAccepted);
    test.bundle.run_for(seconds{1});
    ASSERT_THAT(one.calls, IsEmpty());
    test.bundle.kill_tracker();
    one.is_full = false;
    test.bundle.run_for(seconds{1});
    test.bundle.start_tracker();
    test.bundle.run_for(minutes{5});
    EXPECT_THAT(one.calls, SizeIs(1)) << test.bundle.story("orders");
    EXPECT_EQ(test.ended("orders").back(), LogState::kSucceeded) << test.bundle.story("orders");
  }
}

TEST(UncertainRun, CallThatItsExecutorNeverTookRunsDespiteATimeout) {
  for (const seconds timeout : {seconds{30}, seconds{120}}) {
    SCOPED_TRACE(timeout.count());
    Pushed test;
    auto& one = test.executor(kOne);
    test.keep_registering(kOne);
    one.hangs = true;
    JobSpec job = pushed("orders");
    job.timeout = timeout;
    test.submit(job);
    test.bundle.run_for(seconds{4});
    one.hangs = false;
    test.bundle.run_for(minutes{5});
    EXPECT_EQ(test.ended("orders").back(), LogState::kSucceeded) << test.bundle.story("orders");
  }
}

// A call waited for a connection for a minute, longer than its run may take, and was sent: its run
// is under way, and its answer is not read any more.
struct Unread : Pushed {
  Unread() {
    keep_registering(kOne);
    one.is_full = true;
    one.loses_answer = true;
    one.run_time = seconds{20};
    JobSpec job = pushed("orders");
    job.timeout = seconds{30};
    job.retries.max = 1;
    job.retries.base = seconds{1};
    submit(job);
    bundle.run_for(seconds{60});
    EXPECT_THAT(one.taken, IsEmpty());
    one.is_full = false;
    bundle.run_until([&] { return !one.taken.empty(); });
    bundle.run_for(milliseconds{100});
    one.loses_answer = false;
  }
  void expect_one_run() {
    bundle.restart_after(seconds{1});
    bundle.run_for(minutes{2});
    EXPECT_THAT(ended("orders"), ElementsAre(LogState::kSucceeded)) << bundle.story("orders");
    EXPECT_THAT(one.taken, SizeIs(1));
  }

  carillon::testing::FakeExecutors::One& one = executor(kOne);
};

TEST(UncertainRun, TimeoutCountsFromAnUnansweredCallDespiteACrash) {
  Unread test;
  test.expect_one_run();
}

TEST(UncertainRun, TimeoutCountsFromAnUnansweredCallDespiteAStop) {
  Unread test;
  test.bundle.tracker().stop();
  test.bundle.run_for(milliseconds{500});
  test.expect_one_run();
}

TEST(UncertainRun, ConfirmedShardResultSurvivesAJobTrackerCrash) {
  for (int stall = 100; stall <= 1500; stall += 100) {
    SCOPED_TRACE(stall);
    Pushed test;
    auto& one = test.executor(kOne);
    auto& two = test.executor(kTwo);
    test.keep_registering(kOne);
    test.keep_registering(kTwo);
    two.run_time = minutes{8};
    one.run_time = milliseconds{5};
    one.is_full = true;
    JobSpec quick = pushed("quick");
    quick.push.addresses = {kTwo};
    quick.dispatch = Dispatch::kPush;
    test.submit(pushed("broadcast", Route::kShardingBroadcast));
    test.bundle.run_for(seconds{3});
    ASSERT_THAT(two.taken, SizeIs(1));
    for (const int ms : {300, 340, 380}) {
      two.run_time = milliseconds{ms};
      quick.task_id = "quick-" + std::to_string(ms);
      test.submit(quick);
    }
    test.bundle.run_until([&] { return two.taken.size() == 4; });
    test.bundle.run_for(milliseconds{250});
    // The store stands still just before the other job ends.
    test.bundle.connection().away_until =
        test.bundle.clock.steady_now() + milliseconds{300 + stall};
    test.bundle.run_for(milliseconds{270 + stall});
    one.is_full = false;
    test.bundle.run_for(seconds{3});
    ASSERT_THAT(one.taken, SizeIs(1));
    int with_end = 0;
    for (const auto& [id, row] : test.bundle.tables().push_runs) with_end += row.code != 0 ? 1 : 0;
    EXPECT_EQ(with_end, 1) << "the end of shard 0 is not in the table";
    test.bundle.restart_after(seconds{1});
    test.bundle.run_for(minutes{4});
    EXPECT_THAT(one.taken, SizeIs(1)) << test.bundle.story("broadcast");
  }
}

TEST(UncertainRun, RetriedShardLeavesNoRowOfItsFirstCall) {
  for (int stall = 200; stall <= 3000; stall += 200) {
    SCOPED_TRACE(stall);
    Pushed test;
    auto& one = test.executor(kOne);
    auto& two = test.executor(kTwo);
    test.keep_registering(kOne);
    test.keep_registering(kTwo);
    two.run_time = minutes{8};
    one.run_time = milliseconds{500};
    one.code = 500;
    JobSpec job = pushed("broadcast", Route::kShardingBroadcast);
    job.retries.max = 3;
    job.retries.base = milliseconds{300};
    test.submit(job);
    test.bundle.run_until([&] { return one.taken.size() == 1; });
    test.bundle.run_for(milliseconds{400});
    one.code = 200;
    test.bundle.connection().away_until =
        test.bundle.clock.steady_now() + milliseconds{100 + stall};
    JobSpec other = pushed("other-" + std::to_string(stall));
    other.push.addresses = {kTwo};
    two.run_time = milliseconds{10};
    test.bundle.client.submit({other});
    test.bundle.run_for(seconds{20});
    EXPECT_THAT(test.bundle.tables().push_runs, SizeIs(2)) << test.bundle.story("broadcast");
    test.bundle.restart_after(seconds{1});
    test.bundle.run_for(minutes{10});
    EXPECT_EQ(test.ended("broadcast").back(), LogState::kSucceeded)
        << test.bundle.story("broadcast");
    EXPECT_THAT(one.taken, SizeIs(2));
  }
}

// Its job tracker stops in order, or makes way, before the answer is there.
TEST(UncertainRun, RefusalDuringAnOrderlyStopDelaysNothing) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  one.refuses = "not now";
  one.answers_in = milliseconds{100};
  JobSpec job = pushed("orders");
  job.retries.max = 1;
  job.retries.base = seconds{1};
  test.submit(job);
  test.bundle.run_until([&] { return !one.calls.empty(); });
  test.bundle.tracker().stop();
  ASSERT_TRUE(test.bundle.run_until([&] { return test.bundle.tracker().is_idle(); }, seconds{1}));
  one.refuses = "";
  test.bundle.restart_after(milliseconds{500});
  EXPECT_TRUE(test.bundle.run_until([&] { return !one.taken.empty(); }, seconds{10}))
      << test.bundle.story("orders");
}

TEST(UncertainRun, UnresponsiveExecutorDoesNotDelayAStop) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  one.hangs = true;
  test.submit(pushed("orders"));
  test.bundle.run_until([&] { return !one.paths.empty(); });
  test.bundle.tracker().stop();
  EXPECT_TRUE(
      test.bundle.run_until([&] { return test.bundle.tracker().is_idle(); }, milliseconds{300}));
}

}  // namespace
}  // namespace carillon::jobtracker
