#include <algorithm>
#include <string>
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

TEST(ClaimedAhead, IsCalledByTheNextSessionWithoutBeingClaimedAgain) {
  for (const Duration down : {milliseconds{100}, milliseconds{400}}) {
    Pushed test;
    auto& one = test.executor(kOne);
    JobSpec job = pushed("orders");
    const WallTime due = test.bundle.now() + seconds{2};
    job.schedule = {.kind = ScheduleKind::kAt, .at = due};
    test.submit(job);
    test.bundle.run_to(due - milliseconds{200});
    ASSERT_THAT(test.bundle.tables().executing, SizeIs(1));
    test.bundle.restart_after(down);
    if (down < milliseconds{200}) {
      test.bundle.run_to(due - milliseconds{1});
      EXPECT_THAT(one.calls, IsEmpty());
    }
    test.bundle.run_to(std::max(due, test.bundle.now()) + milliseconds{20});
    EXPECT_THAT(one.calls, SizeIs(1));
    ASSERT_TRUE(test.has_ended("orders"));
    EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
    EXPECT_EQ(test.bundle.log("orders")[0].attempt, 1);
  }
}

TEST(ClaimedAhead, GoesBackWhereNobodyIsLeftToCall) {
  Pushed test;
  auto& one = test.executor(kOne);
  JobSpec job = pushed("orders");
  const WallTime due = test.bundle.now() + seconds{2};
  job.schedule = {.kind = ScheduleKind::kAt, .at = due};
  test.submit(job);
  test.bundle.run_to(due - milliseconds{200});
  ASSERT_TRUE(test.register_at(kOne, true).ok());
  ASSERT_THAT(test.bundle.tables().executing, SizeIs(1));
  test.bundle.restart_after(milliseconds{100});
  test.bundle.run_for(seconds{10});
  EXPECT_THAT(test.bundle.tables().executing, IsEmpty());
  EXPECT_THAT(test.ended("orders"), IsEmpty());
  ASSERT_TRUE(test.register_at(kOne).ok());
  test.bundle.run_for(seconds{1});
  EXPECT_THAT(one.calls, SizeIs(1));
}

TEST(ClaimedAhead, IsNotCalledBeyondItsStartDeadline) {
  Pushed test;
  auto& one = test.executor(kOne);
  JobSpec job = pushed("orders");
  const WallTime due = test.bundle.now() + seconds{2};
  job.schedule = {.kind = ScheduleKind::kAt, .at = due};
  job.start_deadline = milliseconds{500};
  test.submit(job);
  test.bundle.run_to(due - milliseconds{200});
  ASSERT_THAT(test.bundle.tables().executing, SizeIs(1));
  test.bundle.restart_after(seconds{1});
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_THAT(one.calls, IsEmpty());
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kExpired));
}

TEST(ClaimedAhead, IsNotCalledWhereItIsSuspended) {
  for (const bool dies : {false, true}) {
    Pushed test;
    auto& one = test.executor(kOne);
    JobSpec job = pushed("orders");
    job.schedule = {.kind = ScheduleKind::kEvery, .interval = minutes{10}};
    job.schedule.first = test.bundle.now() + seconds{2};
    const WallTime due = *job.schedule.first;
    test.submit(job);
    test.bundle.run_to(due - milliseconds{200});
    EXPECT_THAT(test.bundle.tables().executing, SizeIs(1));
    test.bundle.act(wire::Act{.verb = wire::Verb::kSuspend, .group = "app", .task_id = "orders"});
    if (dies) test.bundle.restart_after(seconds{1});
    test.bundle.run_for(minutes{5});
    EXPECT_THAT(one.calls, IsEmpty());
    EXPECT_THAT(test.bundle.tables().executing, IsEmpty());
  }
}

TEST(ClaimedAhead, KeepsItsOrderOverARestart) {
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

TEST(ClaimedAhead, IsNotCalledBeforeItsTimeWhereTheClockWasSetBackMeanwhile) {
  for (const Duration back : {Duration{milliseconds{300}}, Duration{minutes{1}}}) {
    Pushed test;
    auto& one = test.executor(kOne);
    test.keep_registering(kOne);
    const WallTime due = test.bundle.now() + seconds{2};
    JobSpec job = pushed("orders");
    job.schedule = {.kind = ScheduleKind::kAt, .at = due};
    test.submit(job);
    test.bundle.run_to(due - milliseconds{200});
    ASSERT_THAT(test.bundle.tables().executing, SizeIs(1));
    test.bundle.clock.set_wall(test.bundle.now() - back);
    test.bundle.restart_after(milliseconds{20});
    test.bundle.run_to(due - milliseconds{1});
    EXPECT_THAT(one.calls, IsEmpty());
    test.bundle.run_to(due + milliseconds{100});
    EXPECT_THAT(one.calls, SizeIs(1));
  }
}

TEST(ClaimedAhead, HasOneOutcomeWhereItIsSuspendedAndResumedAfterARestart) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kParallel, Overlap::kQueue}) {
    for (const bool dies : {false, true}) {
      Pushed test;
      test.executor(kOne);
      test.keep_registering(kOne);
      JobSpec job = pushed("orders");
      job.overlap = overlap;
      job.schedule = {.kind = ScheduleKind::kEvery, .interval = minutes{10}};
      job.schedule.first = test.bundle.now() + seconds{2};
      const WallTime due = *job.schedule.first;
      test.submit(job);
      test.bundle.run_to(due - milliseconds{250});
      ASSERT_THAT(test.bundle.tables().executing, SizeIs(1));
      if (dies) test.bundle.restart_after(milliseconds{20});
      test.bundle.act(wire::Act{.verb = wire::Verb::kSuspend, .group = "app", .task_id = "orders"});
      test.bundle.act(wire::Act{.verb = wire::Verb::kResume, .group = "app", .task_id = "orders"});
      ASSERT_LT(test.bundle.now(), due);
      test.bundle.run_for(seconds{20});
      EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kCancelled));
    }
  }
}

}  // namespace
}  // namespace carillon::jobtracker
