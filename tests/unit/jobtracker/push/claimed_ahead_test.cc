#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/jobtracker/push/push_bundle.h"

// Jobs that are pushed are claimed before their time, and who claimed them may have gone by then.
namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A job for two seconds from now, which is claimed.
struct ClaimedBundle : Pushed {
  // `ahead`: so long before its time.
  void claim(JobSpec job, Duration ahead = milliseconds{200}) {
    if (!job.schedule.first) job.schedule = {.kind = ScheduleKind::kAt, .at = due};
    submit(std::move(job));
    bundle.run_to(due - ahead);
    ASSERT_THAT(bundle.tables().executing, SizeIs(1));
  }
  // The first fire of a schedule.
  JobSpec often() const {
    JobSpec job = pushed("orders");
    job.schedule = {.kind = ScheduleKind::kEvery, .interval = minutes{10}};
    job.schedule.first = due;
    return job;
  }
  void act(wire::Verb verb) {
    bundle.act(wire::Act{.verb = verb, .group = "app", .task_id = "orders"});
  }

  carillon::testing::FakeExecutors::One& one = executor(kOne);
  const WallTime due = bundle.now() + seconds{2};
};

TEST(ClaimedAhead, NextSessionCallsTheJobWithoutAnotherClaim) {
  for (const Duration down :
       {milliseconds{0}, milliseconds{50}, milliseconds{100}, milliseconds{400}}) {
    ClaimedBundle test;
    test.claim(pushed("orders"));
    if (down > Duration{}) test.bundle.restart_after(down);
    if (down < milliseconds{200}) {
      test.bundle.run_to(test.due - milliseconds{1});
      EXPECT_THAT(test.one.calls, IsEmpty());
    }
    test.bundle.run_to(std::max(test.due, test.bundle.now()) + milliseconds{20});
    EXPECT_THAT(test.one.calls, SizeIs(1));
    ASSERT_TRUE(test.has_ended("orders"));
    EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
    EXPECT_EQ(test.bundle.log("orders")[0].attempt, 1);
  }
}

TEST(ClaimedAhead, JobIsRequeuedIfNoExecutorIsLeft) {
  ClaimedBundle test;
  test.claim(pushed("orders"));
  ASSERT_TRUE(test.register_at(kOne, true).ok());
  ASSERT_THAT(test.bundle.tables().executing, SizeIs(1));
  test.bundle.restart_after(milliseconds{100});
  test.bundle.run_for(seconds{10});
  EXPECT_THAT(test.bundle.tables().executing, IsEmpty());
  EXPECT_THAT(test.ended("orders"), IsEmpty());
  ASSERT_TRUE(test.register_at(kOne).ok());
  test.bundle.run_for(seconds{1});
  EXPECT_THAT(test.one.calls, SizeIs(1));
}

TEST(ClaimedAhead, JobIsNotCalledAfterItsStartDeadline) {
  ClaimedBundle test;
  JobSpec job = pushed("orders");
  job.start_deadline = milliseconds{500};
  test.claim(job);
  test.bundle.restart_after(seconds{1});
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_THAT(test.one.calls, IsEmpty());
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kExpired));
}

TEST(ClaimedAhead, JobIsNotCalledOnceSuspended) {
  for (const bool dies : {false, true}) {
    ClaimedBundle test;
    test.claim(test.often());
    test.act(wire::Verb::kSuspend);
    if (dies) test.bundle.restart_after(seconds{1});
    test.bundle.run_for(minutes{5});
    EXPECT_THAT(test.one.calls, IsEmpty());
    EXPECT_THAT(test.bundle.tables().executing, IsEmpty());
  }
}

TEST(ClaimedAhead, JobsKeepTheirOrderOverARestart) {
  for (const Duration down : {milliseconds{0}, milliseconds{50}, milliseconds{400}}) {
    Pushed test;
    auto& one = test.executor(kOne);
    const WallTime due = test.bundle.now() + seconds{2};
    for (const int priority : {300, 200, 1}) {
      JobSpec job = pushed("job " + std::to_string(priority));
      job.run.handler = std::to_string(priority);
      job.priority = priority;
      job.schedule = {.kind = ScheduleKind::kAt, .at = due};
      test.submit(job);
    }
    test.bundle.run_to(due - milliseconds{200});
    ASSERT_THAT(test.bundle.tables().executing, SizeIs(3));
    if (down > Duration{}) test.bundle.restart_after(down);
    test.bundle.run_for(seconds{1});
    std::vector<std::string> handlers;
    for (const auto& call : one.calls) handlers.push_back(call.handler);
    EXPECT_THAT(handlers, ElementsAre("1", "200", "300"));
  }
}

TEST(ClaimedAhead, JobIsNotCalledEarlyThoughTheClockMovedBack) {
  for (const Duration back : {Duration{milliseconds{300}}, Duration{minutes{1}}}) {
    ClaimedBundle test;
    test.keep_registering(kOne);
    test.claim(pushed("orders"));
    test.bundle.clock.set_wall(test.bundle.now() - back);
    test.bundle.restart_after(milliseconds{20});
    test.bundle.run_to(test.due - milliseconds{1});
    EXPECT_THAT(test.one.calls, IsEmpty());
    test.bundle.run_to(test.due + milliseconds{100});
    EXPECT_THAT(test.one.calls, SizeIs(1));
  }
}

TEST(ClaimedAhead, FireSuspendedAndResumedAfterARestartHasOneOutcome) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kParallel, Overlap::kQueue}) {
    for (const bool dies : {false, true}) {
      ClaimedBundle test;
      test.keep_registering(kOne);
      JobSpec job = test.often();
      job.overlap = overlap;
      test.claim(job, milliseconds{250});
      if (dies) test.bundle.restart_after(milliseconds{20});
      test.act(wire::Verb::kSuspend);
      test.act(wire::Verb::kResume);
      ASSERT_LT(test.bundle.now(), test.due);
      test.bundle.run_for(seconds{20});
      EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kCancelled));
    }
  }
}

// It was given back, and the next session begins before its time.
TEST(ClaimedAhead, RequeuedFireSuspendedAndResumedAfterRestartHasOneOutcome) {
  for (const Overlap overlap : {Overlap::kParallel, Overlap::kQueue, Overlap::kSkip}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    Pushed test;
    test.executor(kOne);
    test.keep_registering(kOne);
    const WallTime due = test.bundle.now() + seconds{2};
    JobSpec job = pushed("orders");
    job.schedule = {.kind = ScheduleKind::kEvery, .interval = minutes{10}};
    job.schedule.first = due;
    job.overlap = overlap;
    test.submit(job);
    test.bundle.run_to(due - milliseconds{280});
    ASSERT_THAT(test.bundle.tables().executing, SizeIs(1));
    ASSERT_TRUE(test.register_at(kOne, true).ok());
    test.bundle.restart_after(milliseconds{5});
    test.bundle.run_for(milliseconds{20});
    ASSERT_THAT(test.bundle.tables().executing, IsEmpty());  // It was given back.
    test.bundle.restart_after(milliseconds{5});
    test.bundle.run_until([&] { return test.bundle.tracker().is_ready(); });
    test.bundle.act({.verb = wire::Verb::kSuspend, .group = "app", .task_id = "orders"});
    test.bundle.act({.verb = wire::Verb::kResume, .group = "app", .task_id = "orders"});
    ASSERT_LT(test.bundle.now(), due);
    ASSERT_TRUE(test.register_at(kOne).ok());
    test.bundle.run_for(seconds{20});
    EXPECT_THAT(test.ended("orders"), SizeIs(1)) << test.bundle.story("orders");
  }
}

TEST(ClaimedAhead, JobWaitsForAnotherExecutorIfTheOnlyOneLeaves) {
  Pushed test;
  auto& one = test.executor(kOne);
  const WallTime due = test.bundle.now() + seconds{2};
  JobSpec job = pushed("orders");
  job.schedule = {.kind = ScheduleKind::kAt, .at = due};
  test.submit(job);
  test.bundle.run_to(due - milliseconds{200});
  ASSERT_THAT(test.bundle.tables().executing, SizeIs(1));
  ASSERT_TRUE(test.register_at(kOne, true).ok());
  test.bundle.run_to(due + seconds{10});
  EXPECT_THAT(test.ended("orders"), IsEmpty());
  ASSERT_TRUE(test.register_at(kOne).ok());
  test.bundle.run_for(seconds{5});
  EXPECT_THAT(one.calls, SizeIs(1));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
}

}  // namespace
}  // namespace carillon::jobtracker
