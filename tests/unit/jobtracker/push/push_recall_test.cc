#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/jobtracker/push/push_bundle.h"

// Calls that wait for a connection and must not be made any more.
namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// An executor that is busy with the calls of others.
struct Crowded : Pushed {
  explicit Crowded(carillon::testing::TrackerBundle::Options options = {})
      : Pushed{.bundle = carillon::testing::TrackerBundle(options)}, one(executor(kOne)) {
    keep_registering(kOne);
    one.is_full = true;
  }

  void act(wire::Verb verb, const std::string& task_id) {
    bundle.act({.verb = verb, .group = "app", .task_id = task_id});
  }
  void trigger(const std::string& task_id) {
    act(wire::Verb::kTrigger, task_id);
    bundle.run_for(milliseconds{500});
  }
  // Connections become free.
  void serve() {
    one.is_full = false;
    bundle.run_for(minutes{1});
  }

  carillon::testing::FakeExecutors::One& one;
};

JobSpec triggered(const std::string& task_id, Overlap overlap, Block block) {
  JobSpec job = pushed(task_id, Route::kRound);
  job.schedule = {.kind = ScheduleKind::kManual};
  job.overlap = overlap;
  job.push.block = block;
  return job;
}

TEST(PushRecall, KilledRunInTheCallQueueIsNeverCalled) {
  // The second one waits for the outcome of the first.
  Crowded test({.tracker = {.pusher = {.calls_max = 1}}});
  test.submit(pushed("orders"));
  test.submit(pushed("bills"));
  test.bundle.run_for(seconds{1});
  for (const std::string task : {"orders", "bills"}) {
    test.act(wire::Verb::kKill, task);
    ASSERT_TRUE(test.has_ended(task, milliseconds{100})) << "nothing is to be waited for";
  }
  test.submit(pushed("mails"));
  test.serve();
  for (const std::string task : {"orders", "bills"}) {
    EXPECT_THAT(test.ended(task), ElementsAre(LogState::kKilled));
    EXPECT_EQ(test.bundle.log(task)[0].message, "killed: it was not called");
  }
  EXPECT_THAT(test.ended("mails"), ElementsAre(LogState::kSucceeded));
  EXPECT_THAT(test.one.calls, SizeIs(1));
  // That would have ended other runs of the job.
  EXPECT_THAT(test.one.paths, Not(Contains("kill")));
}

TEST(PushRecall, KillBeforeTheRunIsStoredPreventsTheCall) {
  Crowded test;
  test.bundle.connection().work_time = [] { return milliseconds{300}; };
  test.submit(pushed("orders"));
  ASSERT_TRUE(test.bundle.run_until([&] { return !test.bundle.tables().executing.empty(); }));
  ASSERT_THAT(test.bundle.tables().push_runs, IsEmpty());
  test.act(wire::Verb::kKill, "orders");
  test.serve();
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kKilled));
  EXPECT_THAT(test.one.calls, IsEmpty());
  EXPECT_THAT(test.bundle.tables().push_runs, IsEmpty());
}

TEST(PushRecall, ACancelledJobIsNotCalled) {
  Crowded test;
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  test.act(wire::Verb::kCancel, "orders");
  ASSERT_TRUE(test.has_ended("orders", milliseconds{100}));
  test.serve();
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kKilled));
  EXPECT_THAT(test.one.calls, IsEmpty());
}

TEST(PushRecall, SupersededRunIsNotCalledAlongsideItsSuccessor) {
  Crowded test;
  auto& two = test.executor(kTwo);
  two.is_full = true;
  test.submit(triggered("orders", Overlap::kCancelRunning, Block::kCoverEarly));
  test.trigger("orders");
  test.trigger("orders");
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kKilled));
  two.is_full = false;
  test.serve();
  EXPECT_EQ(test.one.calls.size() + two.calls.size(), 1);
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kKilled, LogState::kSucceeded));
}

TEST(PushRecall, SerialJobStartsItsNextRunRightAfterAKill) {
  Crowded test;
  test.submit(triggered("orders", Overlap::kQueue, Block::kSerialExecution));
  test.trigger("orders");
  test.trigger("orders");
  test.act(wire::Verb::kKill, "orders");
  test.one.is_full = false;
  test.bundle.run_for(milliseconds{100});
  EXPECT_THAT(test.one.calls, SizeIs(1));
  test.bundle.run_for(seconds{1});
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kKilled, LogState::kSucceeded));
}

TEST(PushRecall, KilledBroadcastIsNotCalledOnItsRemainingExecutors) {
  Crowded test;
  auto& two = test.executor(kTwo);
  two.run_time = minutes{10};
  test.submit(pushed("orders", Route::kShardingBroadcast));
  test.bundle.run_for(seconds{1});
  ASSERT_THAT(two.running, SizeIs(1));
  test.act(wire::Verb::kKill, "orders");
  ASSERT_TRUE(test.has_ended("orders", seconds{1}));
  test.serve();
  EXPECT_THAT(test.one.calls, IsEmpty());
  EXPECT_THAT(two.running, IsEmpty());
  EXPECT_THAT(test.ended("orders"),
              ElementsAre(LogState::kKilled, LogState::kKilled, LogState::kKilled));
}

TEST(PushRecall, NoCallIsSentUntilTheSessionIsProvenAgain) {
  Crowded test({.is_shared = true});
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  test.bundle.connection().away_until = test.bundle.clock.steady_now() + seconds{4};
  test.bundle.run_for(seconds{2});
  test.one.is_full = false;
  test.bundle.run_for(seconds{1});
  EXPECT_THAT(test.one.calls, IsEmpty());
  ASSERT_TRUE(test.has_ended("orders", seconds{5}));
  EXPECT_THAT(test.one.calls, SizeIs(1));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
}

TEST(PushRecall, StalledJobTrackerSendsNoCallsAfterLosingItsSession) {
  Crowded test({.is_shared = true});
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  test.bundle.clock.advance(minutes{2});
  MemoryStore other(test.bundle.database, {.session = SessionId{99}, .name = "other"},
                    test.bundle.clock);
  test.serve();
  EXPECT_TRUE(test.bundle.fatal().has_value());
  EXPECT_THAT(test.one.calls, IsEmpty());
}

TEST(PushRecall, NextSessionSendsTheUnsentCallsOfAStoppedSession) {
  Crowded test({.tracker = {.pusher = {.calls_max = 1}}});
  test.submit(pushed("orders"));
  test.submit(pushed("bills"));
  test.bundle.run_for(seconds{1});
  test.bundle.tracker().stop();
  test.one.is_full = false;
  test.bundle.run_for(seconds{1});
  EXPECT_THAT(test.one.calls, IsEmpty());
  EXPECT_THAT(test.bundle.tables().push_runs, IsEmpty());
  test.bundle.restart_after(seconds{0});
  test.bundle.run_for(seconds{2});
  EXPECT_THAT(test.one.calls, SizeIs(2));
  for (const std::string task : {"orders", "bills"}) {
    EXPECT_THAT(test.ended(task), ElementsAre(LogState::kSucceeded));
  }
}

TEST(PushRecall, CallsSentByAStoppedSessionAreNotRepeated) {
  Crowded test;
  test.one.is_full = false;
  test.one.run_time = seconds{20};
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  test.bundle.tracker().stop();
  test.bundle.run_for(seconds{1});
  test.bundle.restart_after(seconds{0});
  ASSERT_TRUE(test.has_ended("orders", minutes{1}));
  EXPECT_THAT(test.one.calls, SizeIs(1));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
}

TEST(PushRecall, KilledJobTrackerSendsNoMoreCalls) {
  Crowded test;
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  test.bundle.kill_tracker();
  test.serve();
  EXPECT_THAT(test.one.calls, IsEmpty());
}

}  // namespace
}  // namespace carillon::jobtracker
