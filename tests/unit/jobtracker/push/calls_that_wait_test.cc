#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/jobtracker/push/push_bundle.h"

// Calls that wait at the job tracker, since their executor is slow or hangs, have not begun.
namespace carillon::jobtracker {
namespace {

using std::chrono::hours;
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

TEST(CallsThatWait, AreNotMadeBeyondTheirStartDeadline) {
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

TEST(CallsThatWait, AreNotMadeOnceTheirJobIsSuspended) {
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

TEST(CallsThatWait, AreNotMadeOnceTheirJobIsReplaced) {
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

// The cancel is on its way to the store by then.
TEST(CallsThatWait, EndOnceThoughTheyAreCancelledAsTheirTimePasses) {
  Busy test;
  JobSpec job = pushed("orders");
  job.start_deadline = seconds{3};
  test.submit(job);
  test.bundle.run_for(seconds{2});
  test.bundle.lane().work_time = [] { return seconds{2}; };
  test.bundle.client.act({.verb = wire::Verb::kCancel, .group = "app", .task_id = "orders"});
  test.bundle.run_for(seconds{10});
  test.bundle.lane().work_time = [] { return seconds{0}; };
  test.bundle.run_for(minutes{1});
  EXPECT_THAT(test.bundle.tables().executing, IsEmpty());
  EXPECT_THAT(test.ended("orders"), SizeIs(1));
  EXPECT_THAT(test.one.calls, IsEmpty());
}

}  // namespace
}  // namespace carillon::jobtracker
