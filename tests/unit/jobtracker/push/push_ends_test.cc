#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/jobtracker/push/push_bundle.h"

// Runs that are lost, killed or broadcast, and executors that come and go.
namespace carillon::jobtracker {
namespace {

using carillon::testing::states;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// ---- lost runs ----

TEST(Push, DeadExecutorsRunsAreLostAndRunOnAnotherExecutor) {
  Pushed test;
  auto& one = test.executor(kOne);
  auto& two = test.executor(kTwo);
  test.keep_registering(kOne);
  test.keep_registering(kTwo);
  one.run_time = minutes{10};
  for (int i = 0; i < 100; ++i) test.submit(pushed("job-at-" + std::to_string(i)));
  test.bundle.run_until([&] { return one.calls.size() == 100; });
  test.bundle.run_for(seconds{3});
  test.bundle.executors.kill(kOne);
  test.bundle.run_for(seconds{10});
  EXPECT_THAT(two.calls, SizeIs(100));
  EXPECT_THAT(test.ended("job-at-7"), ElementsAre(LogState::kLost, LogState::kSucceeded));
  EXPECT_EQ(test.bundle.log("job-at-7")[0].message,
            "its executor died, was disconnected, or never received the call");
  EXPECT_EQ(test.bundle.stat("executor_runs_lost_total"), 100);
}

TEST(Push, ClockMovedForwardByAnHourEndsNoRun) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  one.run_time = minutes{5};
  JobSpec job = pushed("orders");
  job.timeout = minutes{10};
  test.submit(job);
  test.bundle.run_for(seconds{5});
  test.bundle.clock.set_wall(test.bundle.now() + hours{1});
  ASSERT_TRUE(test.has_ended("orders", minutes{11}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
  EXPECT_THAT(one.calls, SizeIs(1));
}

TEST(Push, RestartedExecutorsRunsAreLostAndRunAgain) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.run_time = minutes{10};
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{2});
  // It is back before anybody looks.
  one.running.clear();
  one.run_time = seconds{1};
  EXPECT_TRUE(test.register_at(kOne).ok());
  ASSERT_TRUE(test.has_ended("orders", seconds{10}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kLost, LogState::kSucceeded));
}

// What the next executor of ours tells of it.
wire::xxl::RunResult killed_before_end(std::int64_t log_id) {
  return {.log_id = log_id,
          .code = wire::xxl::kFailure,
          .message = std::string{wire::xxl::kKilledBeforeEnd}};
}

TEST(Push, RunKilledWithOurExecutorRunsAgainAtOnce) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.run_time = minutes{10};
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{2});
  one.run_time = seconds{1};
  one.running.clear();
  const std::int64_t log_id = one.calls[0].log_id;
  EXPECT_TRUE(test.tell({killed_before_end(log_id)}).ok());
  EXPECT_TRUE(test.tell({killed_before_end(log_id)}).ok()) << "told again";
  ASSERT_TRUE(test.has_ended("orders", seconds{3}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kLost, LogState::kSucceeded));
  EXPECT_EQ(test.bundle.stat("executor_runs_lost_total"), 1);
}

TEST(Push, ShardKilledWithOurExecutorRunsAgain) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.executor(kTwo);
  one.run_time = minutes{10};
  test.submit(pushed("orders", Route::kShardingBroadcast));
  test.bundle.run_for(seconds{2});
  one.run_time = seconds{1};
  one.running.clear();
  EXPECT_TRUE(test.tell({killed_before_end(one.calls[0].log_id)}).ok());
  ASSERT_TRUE(test.has_ended("orders", seconds{5}));
  EXPECT_THAT(one.calls, SizeIs(2));
  EXPECT_EQ(test.ended("orders").back(), LogState::kSucceeded);
}

TEST(Push, RequestedKillCountsThoughOurExecutorWasKilledInstead) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.run_time = minutes{10};
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{2});
  one.hangs = true;
  test.bundle.act({.verb = wire::Verb::kKill, .group = "app", .task_id = "orders"});
  EXPECT_TRUE(test.tell({killed_before_end(one.calls[0].log_id)}).ok());
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kKilled));
}

TEST(Push, RunOfABusyExecutorContinuesAfterReregistration) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  one.run_time = minutes{5};
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  EXPECT_TRUE(test.register_at(kOne).ok());
  ASSERT_TRUE(test.has_ended("orders", minutes{6}));
  EXPECT_THAT(one.calls, SizeIs(1));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
}

TEST(Push, LostRunIsDetectedDespiteABusyExecutor) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.executor(kTwo).refuses = "no";
  test.keep_registering(kOne);
  one.run_time = minutes{1};
  test.submit(pushed("orders", Route::kShardingBroadcast));
  ASSERT_TRUE(test.bundle.run_until([&] { return one.running.size() == 2; }));
  one.running.erase(one.taken[0].log_id);
  EXPECT_TRUE(test.register_at(kOne).ok());
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_THAT(one.taken, SizeIs(3));
  EXPECT_EQ(test.ended("orders").back(), LogState::kSucceeded);
}

TEST(Push, RunForgottenByAnHonestExecutorIsFound) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  one.run_time = minutes{10};
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{10});
  one.running.clear();
  one.run_time = seconds{1};
  ASSERT_TRUE(test.has_ended("orders", minutes{3}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kLost, LogState::kSucceeded));
}

TEST(Push, AlwaysIdleExecutorsRunContinues) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.says_idle = true;
  test.keep_registering(kOne);
  one.run_time = minutes{10};
  test.submit(pushed("orders"));
  ASSERT_TRUE(test.has_ended("orders", minutes{11}));
  EXPECT_THAT(one.calls, SizeIs(1));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
}

TEST(Push, AlwaysIdleExecutorsRunContinuesOverRestarts) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.says_idle = true;
  test.keep_registering(kOne);
  one.run_time = minutes{10};
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{5});
  test.submit(pushed("bills"));
  test.bundle.run_for(seconds{1});
  test.bundle.restart_after(seconds{10});
  test.bundle.run_for(minutes{2});
  test.bundle.restart_after(seconds{10});
  ASSERT_TRUE(test.has_ended("bills", minutes{11}));
  EXPECT_THAT(one.calls, SizeIs(2));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
  EXPECT_THAT(test.ended("bills"), ElementsAre(LogState::kSucceeded));
}

TEST(Push, AlwaysIdleExecutorsRunIsLostWhenItDies) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.says_idle = true;
  test.keep_registering(kOne);
  one.run_time = minutes{10};
  test.executor(kTwo).run_time = seconds{1};
  test.keep_registering(kTwo);
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{5});
  test.bundle.restart_after(seconds{10});
  test.bundle.executors.kill(kOne);
  ASSERT_TRUE(test.has_ended("orders", minutes{3}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kLost, LogState::kSucceeded));
}

TEST(Push, HonestExecutorsRunThatEndedDuringAnOutageIsFound) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  one.run_time = seconds{20};
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{10});
  EXPECT_TRUE(test.bundle.tables().executors.begin()->second.reports_busy_state);
  one.is_silent = true;
  test.bundle.restart_after(seconds{20});
  one.is_silent = false;
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kLost, LogState::kSucceeded));
}

TEST(Push, RunOfASilentExecutorContinues) {
  Pushed test;
  auto& one = test.executor(kOne);
  auto& two = test.executor(kTwo);
  one.run_time = minutes{3};
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  one.hangs = true;  // It is cut off: neither answers, nor registers.
  test.keep_registering(kTwo);
  test.bundle.run_for(minutes{2});
  EXPECT_THAT(two.calls, IsEmpty());
  one.hangs = false;
  ASSERT_TRUE(test.has_ended("orders", minutes{2}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
}

TEST(Push, LateResultOfALostRunOnlyGetsCounted) {
  Pushed test;
  auto& one = test.executor(kOne);
  auto& two = test.executor(kTwo);
  two.run_time = minutes{1};
  one.run_time = minutes{10};
  test.submit(pushed("orders"));
  test.bundle.run_until([&] { return one.calls.size() == 1; });
  test.bundle.executors.kill(kOne);
  test.bundle.run_until([&] { return two.calls.size() == 1; });
  EXPECT_TRUE(test.tell({{.log_id = one.calls[0].log_id}}).ok());
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kLost));
  EXPECT_EQ(test.bundle.stat("executor_late_results_total"), 1);
}

TEST(Push, TimeoutCountsFromADelayedCallDespiteACrash) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  one.is_full = true;
  one.run_time = seconds{20};
  JobSpec job = pushed("orders");
  job.timeout = seconds{30};
  test.submit(job);
  test.bundle.run_for(seconds{60});
  EXPECT_THAT(one.taken, IsEmpty());
  one.is_full = false;
  test.bundle.run_until([&] { return !one.taken.empty(); });
  test.bundle.run_for(seconds{2});
  test.bundle.restart_after(seconds{1});
  test.bundle.run_for(seconds{40});
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded))
      << test.bundle.story("orders");
}

TEST(Push, RunWithoutAResultEndsByItsOwnTimeout) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  one.is_silent = true;
  one.run_time = minutes{10};
  JobSpec job = pushed("orders");
  job.timeout = seconds{20};
  test.submit(job);
  test.bundle.run_for(seconds{24});
  EXPECT_THAT(test.bundle.log("orders"), IsEmpty());
  ASSERT_TRUE(test.has_ended("orders", seconds{3}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kTimedOut));
  test.bundle.run_for(seconds{1});
  EXPECT_THAT(one.running, IsEmpty()) << "it was told to stop";
}

// ---- registrations ----

TEST(Push, ExecutorThatStopsRegisteringIsNotCalled) {
  Pushed test;
  test.executor(kOne);
  auto& two = test.executor(kTwo);
  test.keep_registering(kTwo);
  test.bundle.run_for(seconds{95});
  EXPECT_THAT(test.bundle.tables().executors, SizeIs(1));
  test.submit(pushed("orders"));
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_THAT(two.calls, SizeIs(1));
  EXPECT_EQ(test.calls_of(kOne), 0U);
}

TEST(Push, ExecutorsAreListedAsNodesAndTheirGroupAsPushed) {
  Pushed test;
  test.executor(kTwo);
  test.executor(kOne);
  const auto text = [](const wire::Row& row, const std::string& wanted) {
    for (const auto& [name, value] : row) {
      if (name == wanted && std::holds_alternative<std::string>(value))
        return std::get<std::string>(value);
    }
    return std::string("none");
  };
  const auto nodes = test.bundle.query({.what = "nodes", .group = "app"});
  ASSERT_THAT(nodes, SizeIs(2));
  EXPECT_EQ(text(nodes[0], "kind"), "executor");
  EXPECT_EQ(text(nodes[0], "address"), kOne);
  EXPECT_EQ(text(nodes[1], "address"), kTwo);
  const auto groups = test.bundle.query({.what = "groups"});
  ASSERT_THAT(groups, SizeIs(1));
  EXPECT_EQ(text(groups[0], "kind"), "push");
  EXPECT_EQ(test.bundle.stat("workers"), 0);
}

TEST(Push, DeregisteredExecutorIsNotCalled) {
  Pushed test;
  test.executor(kOne);
  test.executor(kTwo);
  EXPECT_TRUE(test.register_at(kOne, true).ok());
  test.submit(pushed("orders"));
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_EQ(test.bundle.log("orders")[0].node, kTwo);
  EXPECT_TRUE(test.register_at(kOne, true).ok()) << "also when it has gone";
}

TEST(Push, KnownExecutorsRegisterThoughTheStoreQueueIsFull) {
  using carillon::testing::TrackerBundle;
  Pushed test{.bundle = TrackerBundle({.tracker = {.batcher = {.pending_max = 1}}})};
  test.executor(kOne);
  std::vector<Status> answers;
  for (const std::string& address : {kOne, kTwo, kOne}) {
    test.bundle.tracker().on_executor(ExecutorRegistration{.app_name = "app", .address = address},
                                      [&](Status status) { answers.push_back(std::move(status)); });
  }
  ASSERT_THAT(answers, SizeIs(1)) << "of the one that is new";
  EXPECT_EQ(answers[0].error().code, ErrorCode::kLimit);
  test.bundle.run_for(seconds{1});
  ASSERT_THAT(answers, SizeIs(3));
  EXPECT_TRUE(answers[1].ok() && answers[2].ok());
}

TEST(Push, ExecutorsBeyondTheGroupLimitAreRefused) {
  Pushed test;
  int registered = 0;
  for (int i = 1; i <= 1000; ++i) {
    const std::string address = "http://10.0.1.1:" + std::to_string(i) + "/";
    test.bundle.tracker().on_executor(ExecutorRegistration{.app_name = "app", .address = address},
                                      [&](const Status& status) { registered += status.ok(); });
  }
  ASSERT_TRUE(test.bundle.run_until([&] { return registered == 1000; }));
  const Status refused = test.register_at(kOne);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  EXPECT_EQ(refused.error().message, "there are 1000 executors of 'app', which is the most");
  EXPECT_TRUE(test.register_at("http://10.0.1.1:7/").ok()) << "it is one of them";
}

TEST(Push, InvalidRegistrationIsRefusedWithTheReason) {
  Pushed test;
  EXPECT_THAT(test.ask(ExecutorRegistration{.app_name = "app"}).error().message,
              HasSubstr("registryValue"));
  EXPECT_THAT(test.register_at("ftp://x/").error().message, HasSubstr("address is 'ftp://x/'"));
  EXPECT_THAT(
      test.ask(ExecutorRegistration{.app_name = "no/name", .address = kOne}).error().message,
      HasSubstr("no/name"));
}

// ---- routes that ask ----

TEST(Push, FailoverCallsTheFirstExecutorThatAnswersABeat) {
  Pushed test;
  test.executor(kOne);
  test.executor(kTwo);
  test.bundle.executors.kill(kOne);
  test.submit(pushed("orders", Route::kFailover));
  ASSERT_TRUE(test.has_ended("orders", seconds{1}));
  EXPECT_EQ(test.bundle.log("orders")[0].node, kTwo);
  test.executor(kTwo).hangs = true;
  test.submit(pushed("more", Route::kFailover));
  ASSERT_TRUE(test.has_ended("more", seconds{5}));
  EXPECT_EQ(test.bundle.log("more")[0].message,
            "no executor answers: " + kTwo + ": no answer; " + kOne + ": connection refused");
}

TEST(Push, BusyoverCallsTheFirstIdleExecutor) {
  Pushed test;
  auto& one = test.executor(kOne);
  auto& two = test.executor(kTwo);
  one.run_time = two.run_time = minutes{1};
  JobSpec job = pushed("orders", Route::kBusyover);
  job.schedule = {.kind = ScheduleKind::kManual};
  job.overlap = Overlap::kParallel;
  test.submit(job);
  for (int i = 0; i < 3; ++i) {
    test.bundle.act({.verb = wire::Verb::kTrigger, .group = "app", .task_id = "orders"});
    test.bundle.run_for(seconds{1});
  }
  EXPECT_THAT(one.calls, SizeIs(1));
  EXPECT_THAT(two.calls, SizeIs(1));
  ASSERT_THAT(test.bundle.log("orders"), SizeIs(1));
  EXPECT_EQ(test.bundle.log("orders")[0].message,
            "no executor is idle: " + kOne + ": code 500; " + kTwo + ": code 500");
}

TEST(Push, BusyoverCallsNoBusyExecutorWhenTheIdleOneRefuses) {
  Pushed test;
  auto& one = test.executor(kOne);
  auto& two = test.executor(kTwo);
  one.refuses = "no room";
  JobSpec job = pushed("orders", Route::kBusyover);
  job.schedule = {.kind = ScheduleKind::kManual};
  test.submit(job);
  two.running[1] = {.call = {.job_id = (1 << 29) + test.bundle.definition("orders")->id.value}};
  const auto trigger = [&] {
    test.bundle.act({.verb = wire::Verb::kTrigger, .group = "app", .task_id = "orders"});
    test.bundle.run_for(seconds{1});
  };
  trigger();
  EXPECT_THAT(one.calls, SizeIs(1));
  EXPECT_THAT(two.calls, IsEmpty());
  ASSERT_THAT(test.bundle.log("orders"), SizeIs(1));
  EXPECT_EQ(test.bundle.log("orders")[0].message,
            "no executor is idle: " + kOne + ": no room; " + kTwo + ": code 500");
  EXPECT_THAT(test.bundle.tables().push_runs, IsEmpty());
  two.running.clear();
  trigger();
  ASSERT_THAT(test.bundle.log("orders"), SizeIs(2));
  EXPECT_EQ(test.bundle.log("orders")[1].state, LogState::kSucceeded);
  EXPECT_EQ(test.bundle.log("orders")[1].node, kTwo);
}

TEST(Push, FailedRouteNamesExecutorsThatSpeakHessian) {
  for (const Route route : {Route::kFailover, Route::kBusyover, Route::kFirst}) {
    Pushed test;
    test.executor(kOne).always_says = std::string("H\x02\x00R\x91", 5);
    test.submit(pushed("orders", route));
    ASSERT_TRUE(test.has_ended("orders", seconds{1}));
    EXPECT_THAT(test.bundle.log("orders")[0].message,
                HasSubstr(": " + kOne + ": it speaks Hessian (xxl-job before 2.2)"));
    // One of today is called all the same.
    test.executor(kTwo);
    test.submit(pushed("more", route));
    ASSERT_TRUE(test.has_ended("more", seconds{1}));
    EXPECT_EQ(test.bundle.log("more")[0].node, kTwo);
  }
}

// ---- kills and blocks ----

TEST(Push, KilledRunEndsWithTheExecutorsReport) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.run_time = minutes{10};
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  test.bundle.act({.verb = wire::Verb::kKill, .group = "app", .task_id = "orders"});
  ASSERT_TRUE(test.has_ended("orders", seconds{1}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kKilled));
  EXPECT_EQ(test.bundle.log("orders")[0].message, "killed: killed by the admin");
}

TEST(Push, KilledRunEndsThoughItsExecutorIgnoresTheKill) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.run_time = minutes{10};
  one.is_silent = true;
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  test.bundle.act({.verb = wire::Verb::kKill, .group = "app", .task_id = "orders"});
  ASSERT_TRUE(test.has_ended("orders", seconds{6}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kKilled));
  EXPECT_THAT(test.bundle.log("orders")[0].message, HasSubstr("did not report that it stopped"));
}

TEST(Push, KilledRunIsKilledThoughItsExecutorReportsSuccess) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.run_time = minutes{10};
  one.is_silent = true;
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  test.bundle.act({.verb = wire::Verb::kKill, .group = "app", .task_id = "orders"});
  ASSERT_TRUE(test.tell({{.log_id = one.taken.at(0).log_id,
                          .code = 200,
                          .message = R"("Job Task: 7 is killed.")"}})
                  .ok());
  ASSERT_TRUE(test.has_ended("orders", seconds{1}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kKilled));
}

TEST(Push, RunThatSucceededBeforeItsKillCountsAsSucceeded) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.run_time = minutes{10};
  one.is_silent = true;
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  test.bundle.act({.verb = wire::Verb::kKill, .group = "app", .task_id = "orders"});
  ASSERT_TRUE(
      test.tell({{.log_id = one.taken.at(0).log_id, .code = 200, .message = "rows=14"}}).ok());
  ASSERT_TRUE(test.has_ended("orders", seconds{1}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
}

TEST(Push, CoverEarlyStopsThePreviousRun) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  one.run_time = seconds{25};
  JobSpec job = pushed("orders");
  job.schedule = {.kind = ScheduleKind::kEvery, .interval = seconds{10}, .count = 2};
  job.push.block = Block::kCoverEarly;
  job.overlap = Overlap::kCancelRunning;
  test.submit(job);
  test.bundle.run_for(minutes{1});
  EXPECT_THAT(one.calls, SizeIs(2));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kKilled, LogState::kSucceeded));
}

TEST(Push, DiscardedCallIsNotRetried) {
  Pushed test;
  auto& one = test.executor(kOne);
  auto& two = test.executor(kTwo);
  one.refuses =
      "block strategy effect\xEF\xBC\x9A"
      "Discard Later";
  JobSpec job = pushed("orders");
  job.push.block = Block::kDiscardLater;
  job.retries = {.max = 3, .base = seconds{1}};
  test.submit(job);
  ASSERT_TRUE(test.has_ended("orders", seconds{1}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kDiscarded));
  EXPECT_THAT(one.calls, SizeIs(1));
  EXPECT_THAT(two.calls, IsEmpty());
}

// ---- broadcast ----

TEST(Push, BroadcastCallsEachExecutorWithItsShard) {
  Pushed test;
  std::vector<std::int64_t> shards;
  for (const std::string& address : {kOne, kTwo, kThree}) test.executor(address);
  test.submit(pushed("orders", Route::kShardingBroadcast));
  ASSERT_TRUE(test.has_ended("orders", seconds{1}));
  std::int64_t shard = 0;
  for (const std::string& address : {kOne, kTwo, kThree}) {
    const auto& one = test.bundle.executors.at(address);
    ASSERT_THAT(one.calls, SizeIs(1));
    EXPECT_EQ(one.calls[0].shard_index, shard++);
    EXPECT_EQ(one.calls[0].shard_total, 3);
  }
  const auto log = test.bundle.log("orders");
  ASSERT_THAT(log, SizeIs(4));
  EXPECT_THAT(states(log), ElementsAre(LogState::kSucceeded, LogState::kSucceeded,
                                       LogState::kSucceeded, LogState::kSucceeded));
  EXPECT_EQ(log[0].message, "shard 0 of 3: fine");
  EXPECT_EQ(log[0].node, kOne);
  EXPECT_FALSE(log[2].final);
  EXPECT_TRUE(log[3].final);
  EXPECT_EQ(log[3].message, "3 of 3 shards succeeded");
}

TEST(Push, FailedShardAloneIsRetriedEvenAfterARestart) {
  for (const bool restarts : {false, true}) {
    Pushed test;
    auto& one = test.executor(kOne);
    auto& two = test.executor(kTwo);
    two.code = 500;
    two.message = "boom";
    JobSpec job = pushed("orders", Route::kShardingBroadcast);
    job.retries = {.max = 1, .base = seconds{10}};
    test.submit(job);
    test.bundle.run_for(seconds{2});
    if (restarts) test.bundle.restart_after(seconds{1});
    two.code = 200;
    two.message = "fine";
    ASSERT_TRUE(test.has_ended("orders", seconds{30}));
    EXPECT_THAT(one.calls, SizeIs(1)) << restarts;
    ASSERT_THAT(two.calls, SizeIs(2)) << restarts;
    EXPECT_EQ(two.calls[1].shard_index, 1);
    EXPECT_EQ(two.calls[1].shard_total, 2);
    EXPECT_EQ(test.bundle.log("orders").back().message, "2 of 2 shards succeeded");
  }
}

TEST(Push, RepeatedShardResultIsConfirmedWhileOtherShardsRun) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.executor(kTwo).run_time = minutes{10};
  test.keep_registering(kOne);
  test.keep_registering(kTwo);
  test.submit(pushed("orders", Route::kShardingBroadcast));
  ASSERT_TRUE(test.bundle.run_until([&] { return !test.bundle.log("orders").empty(); }));
  const std::int64_t log_id = one.calls.at(0).log_id;
  EXPECT_TRUE(test.tell({{.log_id = log_id}, {.log_id = log_id, .code = 500}}).ok());
  // Another job tracker was told as well.
  Batch batch;
  batch.operations.emplace_back(PutExecutorResult{{.id = 1, .log_id = log_id, .code = 200}});
  ASSERT_TRUE(std::holds_alternative<Committed>(test.bundle.database.apply(batch)));
  test.bundle.restart_after(seconds{1});
  test.bundle.run_for(seconds{2});
  EXPECT_THAT(test.bundle.tables().executor_results, IsEmpty());
  EXPECT_TRUE(test.tell({{.log_id = log_id}}).ok());
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded)) << "told once";
  ASSERT_TRUE(test.has_ended("orders", minutes{11}));
  EXPECT_EQ(test.bundle.log("orders").back().message, "2 of 2 shards succeeded");
}

TEST(Push, BroadcastFailureNamesTheFailedShard) {
  Pushed test;
  test.executor(kOne);
  test.executor(kTwo).code = 500;
  JobSpec job = pushed("orders", Route::kShardingBroadcast);
  test.submit(job);
  ASSERT_TRUE(test.has_ended("orders", seconds{5}));
  const LogEntry last = test.bundle.log("orders").back();
  EXPECT_EQ(last.state, LogState::kFailed);
  EXPECT_EQ(last.message, "1 of 2 shards succeeded; shard 1 at " + kTwo + ": fine");
}

TEST(Push, DiscardedShardIsNotRetriedEvenAfterARestart) {
  for (const bool discards_all : {false, true}) {
    SCOPED_TRACE(discards_all);
    Pushed test;
    auto& one = test.executor(kOne);
    auto& two = test.executor(kTwo);
    auto& three = test.executor(kThree);
    one.run_time = seconds{10};
    JobSpec job = pushed("orders", Route::kShardingBroadcast);
    job.push.block = Block::kDiscardLater;
    job.retries = {.max = 3, .base = seconds{1}};
    job.children = {{.group = "app", .task_id = "child"}};
    JobSpec child = pushed("child", Route::kLast);
    child.schedule = {.kind = ScheduleKind::kManual};
    test.submit(child);
    two.refuses = "block strategy effect";
    if (discards_all) one.refuses = three.refuses = two.refuses;
    test.submit(job);
    if (!discards_all) {
      test.bundle.run_for(seconds{2});
      test.bundle.restart_after(seconds{1});
    }
    ASSERT_TRUE(test.has_ended("orders", seconds{30}));
    EXPECT_THAT(two.calls, SizeIs(1));
    const auto log = test.bundle.log("orders");
    ASSERT_THAT(log, SizeIs(4));
    for (const LogEntry& entry : log) {
      if (entry.node != kTwo) continue;
      EXPECT_EQ(entry.state, LogState::kDiscarded);
      EXPECT_EQ(entry.message, "shard 1 of 3: block strategy effect");
    }
    EXPECT_EQ(log.back().state, discards_all ? LogState::kDiscarded : LogState::kSucceeded);
    EXPECT_EQ(log.back().message, discards_all ? "0 of 3 shards succeeded, 3 discarded"
                                               : "2 of 3 shards succeeded, 1 discarded");
    test.bundle.run_for(seconds{2});
    EXPECT_THAT(test.bundle.log("child"), SizeIs(discards_all ? 0 : 1));
  }
}

TEST(Push, KilledBroadcastStopsOnEveryExecutor) {
  Pushed test;
  auto& one = test.executor(kOne);
  auto& two = test.executor(kTwo);
  one.run_time = two.run_time = minutes{10};
  test.submit(pushed("orders", Route::kShardingBroadcast));
  test.bundle.run_for(seconds{1});
  test.bundle.act({.verb = wire::Verb::kKill, .group = "app", .task_id = "orders"});
  ASSERT_TRUE(test.has_ended("orders", seconds{2}));
  EXPECT_THAT(one.running, IsEmpty());
  EXPECT_THAT(two.running, IsEmpty());
  EXPECT_EQ(test.bundle.log("orders").back().state, LogState::kKilled);
}

// ---- by hand ----

TEST(Push, ManuallyListedExecutorsNeedNotRegister) {
  Pushed test;
  test.bundle.executors.add(kOne);
  test.bundle.executors.add(kTwo);
  const auto list = [&](std::vector<std::string> addresses, std::optional<std::string> token) {
    wire::Act act{.verb = wire::Verb::kAddExecutors, .group = "app"};
    act.addresses = std::move(addresses);
    act.token = std::move(token);
    return test.bundle.act(std::move(act));
  };
  ASSERT_TRUE(std::holds_alternative<wire::Acted>(list({kOne}, "secret")));
  test.bundle.run_for(minutes{10});
  test.bundle.restart_after(seconds{1});
  test.submit(pushed("first"));
  ASSERT_TRUE(test.has_ended("first"));
  EXPECT_EQ(test.bundle.log("first")[0].node, kOne);
  EXPECT_EQ(test.bundle.executors.at(kOne).headers.at("XXL-JOB-ACCESS-TOKEN"), "secret");

  ASSERT_TRUE(std::holds_alternative<wire::Acted>(list({kTwo}, std::nullopt)));
  test.bundle.run_for(minutes{2});
  test.submit(pushed("second"));
  ASSERT_TRUE(test.has_ended("second"));
  EXPECT_EQ(test.bundle.log("second")[0].node, kTwo) << "the list is another one";
  EXPECT_EQ(test.bundle.executors.at(kTwo).headers.at("XXL-JOB-ACCESS-TOKEN"), "secret");

  const auto refused = list({"ftp://x/"}, std::nullopt);
  ASSERT_TRUE(std::holds_alternative<wire::ErrorReply>(refused));
  EXPECT_THAT(std::get<wire::ErrorReply>(refused).error.message, HasSubstr("ftp://x/"));
  const auto metadata = list({"http://169.254.169.254/"}, std::nullopt);
  ASSERT_TRUE(std::holds_alternative<wire::ErrorReply>(metadata));
  EXPECT_THAT(std::get<wire::ErrorReply>(metadata).error.message,
              HasSubstr("169.254.169.254 is a link-local or metadata address"));
}

TEST(Push, AGroupIsRemovedOnceItHasNoJobs) {
  Pushed test;
  test.executor(kOne);
  const auto remove = [&](const std::string& group) -> std::string {
    const wire::Message answer =
        test.bundle.act({.verb = wire::Verb::kRemoveGroup, .group = group});
    if (const auto* acted = std::get_if<wire::Acted>(&answer)) return acted->message;
    return std::get<wire::ErrorReply>(answer).error.message;
  };
  JobSpec job = pushed("orders");
  job.schedule = {.kind = ScheduleKind::kManual};
  test.submit(job);
  EXPECT_EQ(remove("app"),
            "group 'app' has jobs: 1 defined, 0 waiting, 0 executing (cancel them first)");
  test.bundle.act({.verb = wire::Verb::kCancel, .group = "app", .task_id = "orders"});
  EXPECT_EQ(test.bundle.query({.what = "groups"}).size(), 1u);
  EXPECT_EQ(remove("app"), "group 'app' removed");
  EXPECT_TRUE(test.bundle.query({.what = "groups"}).empty());
  EXPECT_TRUE(test.bundle.query({.what = "nodes"}).empty());
  test.bundle.restart_after(seconds{1});
  test.bundle.run_for(seconds{1});
  EXPECT_TRUE(test.bundle.query({.what = "groups"}).empty());
  EXPECT_THAT(remove("app"), HasSubstr("not a group of xxl-job executors"));
  EXPECT_EQ(remove("nowhere"), "there is no group 'nowhere'");
  // Who registers makes it again.
  ASSERT_TRUE(test.register_at(kOne).ok());
  test.submit(pushed("again"));
  ASSERT_TRUE(test.has_ended("again"));
  EXPECT_EQ(test.bundle.log("again")[0].state, LogState::kSucceeded);
}

TEST(Push, ManualListSetsTheCallOrderAndExcludesOtherExecutors) {
  Pushed test;
  test.executor(kThree);  // before there is a list
  for (const std::string& address : {kOne, kTwo}) test.bundle.executors.add(address);
  const auto list = [&](std::vector<std::string> addresses) {
    wire::Act act{.verb = wire::Verb::kAddExecutors, .group = "app"};
    act.addresses = std::move(addresses);
    return test.bundle.act(std::move(act));
  };
  ASSERT_TRUE(std::holds_alternative<wire::Acted>(list({kTwo, kOne})));
  ASSERT_TRUE(test.register_at(kThree).ok()) << "under xxl-job it is answered, and not called";
  ASSERT_TRUE(test.register_at(kOne).ok());
  for (const char* task : {"before", "after"}) {
    SCOPED_TRACE(task);
    JobSpec shards = pushed(std::string{"shards-"} + task, Route::kShardingBroadcast);
    test.submit(std::move(shards));
    test.submit(pushed(task));
    ASSERT_TRUE(test.has_ended(task));
    EXPECT_EQ(test.bundle.log(task)[0].node, kTwo) << "it is the first of the list";
    ASSERT_TRUE(test.has_ended(std::string{"shards-"} + task));
    test.bundle.restart_after(seconds{1});
    test.bundle.run_for(seconds{1});
  }
  EXPECT_EQ(test.calls_of(kThree), 0U);

  // Without a list who registers is called.
  ASSERT_TRUE(std::holds_alternative<wire::Acted>(list({})));
  ASSERT_TRUE(test.register_at(kThree).ok());
  test.bundle.run_for(minutes{2});
  ASSERT_TRUE(test.register_at(kThree).ok());
  test.submit(pushed("registered"));
  ASSERT_TRUE(test.has_ended("registered"));
  EXPECT_EQ(test.bundle.log("registered")[0].node, kThree);
}

TEST(Push, ATriggerMayNameTheExecutor) {
  Pushed test;
  test.executor(kOne);
  test.executor(kTwo);
  JobSpec job = pushed("orders");
  job.schedule = {.kind = ScheduleKind::kManual};
  test.submit(job);
  wire::Act act{.verb = wire::Verb::kTrigger, .group = "app", .task_id = "orders"};
  act.payload = "day=2";
  act.addresses = {kTwo};
  test.bundle.act(act);
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_EQ(test.bundle.log("orders")[0].node, kTwo);
  EXPECT_EQ(test.bundle.executors.at(kTwo).calls[0].param, "day=2");
  EXPECT_EQ(test.bundle.executors.at(kTwo).calls[0].job_id,
            (1 << 29) + test.bundle.definition("orders")->id.value);
}

// As with any other run: it goes on, and is not tried again.
TEST(Push, FailedShardIsNotRetriedOnceItsJobIsSuspended) {
  Pushed test;
  auto& one = test.executor(kOne);
  auto& two = test.executor(kTwo);
  test.keep_registering(kOne);
  test.keep_registering(kTwo);
  two.code = 500;
  JobSpec job = pushed("orders", Route::kShardingBroadcast);
  job.schedule = {.kind = ScheduleKind::kEvery, .interval = hours{1}};
  job.schedule.first = test.bundle.now() + seconds{2};
  job.retries = {.max = 3, .base = seconds{30}};
  test.submit(job);
  test.bundle.run_for(seconds{5});
  ASSERT_THAT(one.calls, SizeIs(1));
  ASSERT_THAT(two.calls, SizeIs(1));
  test.bundle.act({.verb = wire::Verb::kSuspend, .group = "app", .task_id = "orders"});
  test.bundle.run_for(minutes{5});
  EXPECT_THAT(two.calls, SizeIs(1));
}

TEST(Push, LostShardIsNotRetriedOnceItsJobIsSuspended) {
  Pushed test;
  auto& one = test.executor(kOne);
  auto& two = test.executor(kTwo);
  test.keep_registering(kOne);
  one.run_time = two.run_time = minutes{10};
  JobSpec job = pushed("orders", Route::kShardingBroadcast);
  job.schedule = {.kind = ScheduleKind::kEvery, .interval = hours{1}};
  job.schedule.first = test.bundle.now() + seconds{2};
  test.submit(job);
  test.bundle.run_for(seconds{5});
  ASSERT_THAT(one.calls, SizeIs(1));
  ASSERT_THAT(two.calls, SizeIs(1));
  test.bundle.act({.verb = wire::Verb::kSuspend, .group = "app", .task_id = "orders"});
  test.bundle.executors.kill(kTwo);
  test.bundle.run_for(minutes{15});
  EXPECT_EQ(test.bundle.stat("executor_runs_lost_total"), 1);
  EXPECT_THAT(one.calls, SizeIs(1));
  EXPECT_THAT(test.bundle.tables().executing, IsEmpty());
}

}  // namespace
}  // namespace carillon::jobtracker
