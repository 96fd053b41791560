#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/jobtracker/push/push_bundle.h"

// Calls that wait at the job tracker, since their executor is slow or hangs, have not begun.
namespace carillon::jobtracker {
namespace {

using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// An executor that is busy with the calls of others.
struct Busy : Pushed {
  Busy() : one(executor(kOne)) {
    keep_registering(kOne);
    one.is_full = true;
  }
  carillon::testing::FakeExecutors::One& one;
};

TEST(QueuedCalls, AreNotMadeAfterTheirStartDeadline) {
  for (const Route route : {Route::kFirst, Route::kFailover}) {
    SCOPED_TRACE(static_cast<int>(route));
    Busy test;
    JobSpec job = pushed("orders", route);
    job.start_deadline = seconds{2};
    test.submit(job);
    test.bundle.run_for(seconds{20});
    EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kExpired));
    test.one.is_full = false;
    test.bundle.run_for(minutes{1});
    EXPECT_THAT(test.one.calls, IsEmpty());
    EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kExpired));
  }
}

TEST(QueuedCalls, AreNotMadeIfTheirExecutorIsFreeTooLate) {
  for (milliseconds late{50}; late < seconds{1}; late += milliseconds{100}) {
    SCOPED_TRACE(late.count());
    Busy test;
    JobSpec job = pushed("orders");
    job.start_deadline = seconds{2};
    test.submit(job);
    test.bundle.run_for(seconds{2} + late);
    test.one.is_full = false;
    test.bundle.run_for(seconds{20});
    EXPECT_THAT(test.one.calls, IsEmpty());
    EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kExpired));
  }
}

TEST(QueuedCalls, AreNotMadeOnceTheirJobIsSuspended) {
  for (const Route route : {Route::kFirst, Route::kFailover}) {
    SCOPED_TRACE(static_cast<int>(route));
    Busy test;
    JobSpec job = pushed("orders", route);
    job.schedule = {.kind = ScheduleKind::kEvery, .interval = hours{1}};
    job.schedule.first = test.bundle.now() + seconds{2};
    test.submit(job);
    test.bundle.run_for(seconds{5});
    ASSERT_THAT(test.one.calls, IsEmpty());
    const auto answer =
        test.bundle.act({.verb = wire::Verb::kSuspend, .group = "app", .task_id = "orders"});
    ASSERT_TRUE(std::holds_alternative<wire::Acted>(answer));
    test.bundle.run_for(seconds{5});
    test.one.is_full = false;
    test.bundle.run_for(minutes{5});
    EXPECT_THAT(test.one.calls, IsEmpty()) << "it runs though it is suspended";
  }
}

TEST(QueuedCalls, AreNotMadeOnceTheirJobIsReplaced) {
  Busy test;
  JobSpec job = pushed("orders");
  job.schedule = {.kind = ScheduleKind::kEvery, .interval = hours{1}};
  job.schedule.first = test.bundle.now() + seconds{2};
  test.submit(job);
  test.bundle.run_for(seconds{5});
  ASSERT_THAT(test.one.calls, IsEmpty());
  job.schedule.first = test.bundle.now() + hours{1};
  job.run.handler = "another";
  job.replace_on_exist = true;
  ASSERT_EQ(test.submit(job).status, wire::SubmitStatus::kAccepted);
  test.one.is_full = false;
  test.bundle.run_for(minutes{5});
  EXPECT_THAT(test.one.calls, IsEmpty());
}

// In order, while a call waits for a connection to it, or is refused, and another one comes later.
TEST(QueuedCalls, WaitForAnotherExecutorWhenTheOnlyOneLeaves) {
  for (const Route route : {Route::kFirst, Route::kFailover, Route::kBusyover}) {
    for (const bool refuses : {false, true}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(route) << " refuses " << refuses);
      Busy test;
      test.keep_registering(kTwo);
      test.bundle.executors.add(kTwo).is_up = false;
      test.submit(pushed("orders", route));
      test.bundle.run_for(seconds{2});
      ASSERT_THAT(test.one.calls, IsEmpty());
      ASSERT_TRUE(test.register_at(kOne, true).ok());
      test.bundle.run_for(milliseconds{100});
      test.one.is_up = !refuses;
      test.one.is_full = false;
      test.one.crowded = 1000;
      test.bundle.run_for(seconds{20});
      EXPECT_THAT(test.ended("orders"), IsEmpty());
      auto& two = test.executor(kTwo);
      test.bundle.run_for(seconds{10});
      EXPECT_THAT(two.calls, SizeIs(1));
      EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
    }
  }
}

TEST(QueuedCalls, GoToTheExecutorThatReplacesTheirs) {
  for (const Route route : {Route::kFirst, Route::kFailover}) {
    SCOPED_TRACE(static_cast<int>(route));
    Busy test;
    test.submit(pushed("orders", route));
    test.bundle.run_for(seconds{2});
    auto& two = test.executor(kTwo);
    test.bundle.run_for(seconds{2});
    ASSERT_TRUE(test.register_at(kOne, true).ok());
    test.one.is_up = false;
    test.bundle.run_for(seconds{20});
    EXPECT_THAT(two.calls, SizeIs(1)) << test.bundle.story("orders");
    EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
  }
}

TEST(QueuedCalls, QueuedForAnExecutorThatLeftWaitForAnother) {
  Pushed test{.bundle = TrackerBundle({.tracker = {.pusher = {.calls_max = 1}}})};
  auto& one = test.executor(kOne);
  one.hangs = true;
  test.submit(pushed("first"));
  test.bundle.run_for(seconds{1});
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  ASSERT_TRUE(test.register_at(kOne, true).ok());
  one.is_up = false;
  test.bundle.run_for(seconds{20});
  EXPECT_THAT(test.ended("orders"), IsEmpty()) << test.bundle.story("orders");
}

// They go back, and are not claimed again for that.
TEST(QueuedCalls, AreClaimedAtMostTwiceDespiteAShortStartDeadline) {
  Pushed test;
  test.executor(kOne);
  test.bundle.run_for(seconds{1});
  const auto before = test.bundle.stat("jobs_claimed_total");
  test.bundle.connection().work_time = [] { return milliseconds{2}; };
  test.bundle.connection().away_until = test.bundle.clock.steady_now() + milliseconds{120};
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 1000; ++i) {
    jobs.push_back(pushed("orders-" + std::to_string(i)));
    jobs.back().start_deadline = milliseconds{100};
  }
  test.bundle.submit(jobs);
  test.bundle.run_for(seconds{5});
  EXPECT_LE(test.bundle.stat("jobs_claimed_total") - before, 2 * std::ssize(jobs));
}

// The cancel is on its way to the store by then.
TEST(QueuedCalls, EndOnceThoughTheyAreCancelledAsTheyExpire) {
  Busy test;
  JobSpec job = pushed("orders");
  job.start_deadline = seconds{3};
  test.submit(job);
  test.bundle.run_for(seconds{2});
  test.bundle.connection().work_time = [] { return seconds{2}; };
  test.bundle.client.act({.verb = wire::Verb::kCancel, .group = "app", .task_id = "orders"});
  test.bundle.run_for(seconds{10});
  test.bundle.connection().work_time = [] { return seconds{0}; };
  test.bundle.run_for(minutes{1});
  EXPECT_THAT(test.bundle.tables().executing, IsEmpty());
  EXPECT_THAT(test.ended("orders"), SizeIs(1));
  EXPECT_THAT(test.one.calls, IsEmpty());
}

}  // namespace
}  // namespace carillon::jobtracker
