#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/jobtracker/push/push_bundle.h"

// Jobs that are pushed to executors, from their submission to their end.
namespace carillon::jobtracker {
namespace {

using carillon::testing::states;
using carillon::testing::TrackerBundle;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

TEST(Push, JobIsCalledAndEndsWithItsExecutorResult) {
  Pushed test;
  auto& one = test.executor(kOne);
  JobSpec job = pushed("orders");
  job.payload = "day=1";
  job.timeout = milliseconds{1500};
  job.push.block = Block::kDiscardLater;
  EXPECT_EQ(test.submit(job).warning, "");
  ASSERT_TRUE(test.has_ended("orders", seconds{1}));

  ASSERT_THAT(one.calls, SizeIs(1));
  const wire::xxl::RunCall& call = one.calls[0];
  EXPECT_EQ(call.handler, "importOrders");
  EXPECT_EQ(call.param, "day=1");
  EXPECT_EQ(call.timeout_s, 2);
  EXPECT_EQ(call.block, wire::xxl::BlockStrategy::kDiscardLater);
  EXPECT_EQ(call.glue_type, "BEAN");
  EXPECT_EQ(call.shard_total, 1);
  EXPECT_GT(call.job_id, 1 << 30);
  EXPECT_LE(call.job_id, INT32_MAX);
  EXPECT_EQ(one.headers.at("XXL-JOB-APPNAME"), "app");
  EXPECT_EQ(one.headers.count("XXL-JOB-ACCESS-TOKEN"), 0U);
  const auto log = test.bundle.log("orders");
  ASSERT_THAT(log, SizeIs(1));
  EXPECT_EQ(log[0].state, LogState::kSucceeded);
  EXPECT_EQ(log[0].node, kOne);
  EXPECT_EQ(log[0].message, "fine");
  EXPECT_EQ(log[0].attempt, 1);
  test.bundle.run_for(seconds{1});
  EXPECT_TRUE(test.bundle.is_empty());
  EXPECT_THAT(test.bundle.tables().push_runs, IsEmpty());
}

TEST(Push, JobsForAnExecutorGroupArePushedByDefault) {
  Pushed test;
  test.executor(kOne);
  JobSpec job = pushed("orders");
  job.dispatch = Dispatch::kDefault;
  EXPECT_EQ(test.submit(job).status, wire::SubmitStatus::kAccepted);
  EXPECT_TRUE(test.has_ended("orders"));
  job.run = {.kind = RunKind::kShell, .shell = "true"};
  EXPECT_THAT(test.submit(job).reason, HasSubstr("is a group of xxl-job executors"));
}

TEST(Push, PullJobWarnsWhenItsGroupHasNoTaskTracker) {
  Pushed test;
  test.executor(kOne);
  JobSpec job = pushed("pulled");
  job.dispatch = Dispatch::kPull;
  job.push = {};
  EXPECT_EQ(test.submit(job).warning, "no task tracker of group 'app' is connected");
  const auto rows = test.bundle.query({.what = "show", .group = "app", .task_id = "pulled"});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(
      rows[0],
      Contains(
          Pair("reason", wire::Field{std::string{"no task tracker of group 'app' is connected"}})));
}

TEST(Push, ScriptSourceIsSentWithTheCall) {
  Pushed test;
  auto& one = test.executor(kOne);
  JobSpec job = pushed("script");
  job.run = {.kind = RunKind::kScript, .script_language = "python", .script_source = "print(1)"};
  test.submit(job);
  ASSERT_TRUE(test.has_ended("script"));
  EXPECT_EQ(one.calls[0].glue_type, "GLUE_PYTHON");
  EXPECT_EQ(one.calls[0].glue_source, "print(1)");
  EXPECT_EQ(one.calls[0].handler, "");
  EXPECT_GT(one.calls[0].glue_updated_ms, 0);
}

TEST(Push, GroovyScriptForAnExecutorGroupIsPushedByDefault) {
  Pushed test;
  auto& one = test.executor(kOne);
  JobSpec job = pushed("script");
  job.dispatch = Dispatch::kDefault;
  job.run = {.kind = RunKind::kScript, .script_language = "groovy", .script_source = "println 1"};
  EXPECT_EQ(test.submit(job).status, wire::SubmitStatus::kAccepted);
  ASSERT_TRUE(test.has_ended("script"));
  EXPECT_EQ(one.calls.at(0).glue_type, "GLUE_GROOVY");
  job.task_id = "other";
  job.group = "default";
  EXPECT_THAT(test.submit(job).reason, HasSubstr("group 'default' has no xxl-job executors"));
}

TEST(Push, WaitingJobIsCalledAsSoonAsAnExecutorRegisters) {
  Pushed test;
  EXPECT_THAT(test.submit(pushed("orders")).warning, HasSubstr("no executor of group 'app'"));
  test.bundle.run_for(minutes{5});
  EXPECT_THAT(test.bundle.log("orders"), IsEmpty());
  test.executor(kOne);
  EXPECT_TRUE(test.has_ended("orders", seconds{1}));
}

TEST(Push, FiresUseJobIdsAboveTheXxlJobRange) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  JobSpec job = pushed("orders");
  job.schedule = {.kind = ScheduleKind::kEvery, .interval = seconds{1}};
  test.submit(job);
  test.bundle.run_for(seconds{60});
  EXPECT_NEAR(static_cast<double>(one.calls.size()), 60, 1);
  for (const auto& call : one.calls)
    EXPECT_EQ(call.job_id, (1 << 29) + test.bundle.definition("orders")->id.value);
  for (const auto& entry : test.bundle.log("orders")) EXPECT_EQ(entry.state, LogState::kSucceeded);
}

TEST(Push, RefusedCallMovesToTheNextAddressAtOnce) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.executor(kTwo);
  auto& three = test.executor(kThree);
  one.refuses = "job handler [importOrders] not found.";
  test.bundle.executors.kill(kTwo);
  test.submit(pushed("orders"));
  ASSERT_TRUE(test.has_ended("orders", seconds{1}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
  EXPECT_EQ(test.bundle.log("orders")[0].node, kThree);
  ASSERT_THAT(three.calls, SizeIs(1));
  EXPECT_NE(one.calls[0].log_id, three.calls[0].log_id);
  // A stray result for the call that was refused counts nothing, and neither does another word of
  // one that has ended: the log tells both.
  set_log_level(LogLevel::kInfo);
  CaptureStderr();
  EXPECT_TRUE(test.tell({{.log_id = one.calls[0].log_id, .code = 500}}).ok());
  EXPECT_TRUE(test.tell({{.log_id = three.calls[0].log_id, .code = 500, .message = "oh"}}).ok());
  const std::string said = GetCapturedStderr();
  set_log_level(LogLevel::kOff);
  EXPECT_EQ(test.bundle.stat("executor_late_results_total"), 2);
  EXPECT_THAT(said, HasSubstr("log_id=" + std::to_string(one.calls[0].log_id) + "  code=500"));
  EXPECT_THAT(said, HasSubstr("log_id=" + std::to_string(three.calls[0].log_id) +
                              "  code=500  message=oh"));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
}

TEST(Push, JsonArrayAnswerCountsAsARefusal) {
  Pushed test;
  test.executor(kOne).answers = R"([{"logId":1,"handleCode":500}])";
  test.executor(kTwo);
  test.submit(pushed("orders"));
  ASSERT_TRUE(test.has_ended("orders", seconds{1}));
  EXPECT_EQ(test.bundle.log("orders")[0].node, kTwo);
}

TEST(Push, JobRefusedByEveryExecutorFailsAndIsRetried) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  one.refuses = "job handler [importOrders] not found.";
  JobSpec job = pushed("orders");
  job.retries = {.max = 2, .base = seconds{10}};
  test.submit(job);
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_THAT(test.ended("orders"),
              ElementsAre(LogState::kFailed, LogState::kFailed, LogState::kFailed));
  EXPECT_THAT(
      test.bundle.log("orders")[2].message,
      HasSubstr("no executor accepted it: " + kOne + ": job handler [importOrders] not found."));
  EXPECT_THAT(one.calls, SizeIs(3));
}

TEST(Push, CallWithALostAnswerWaitsForItsResult) {
  Pushed test;
  auto& one = test.executor(kOne);
  auto& two = test.executor(kTwo);
  one.loses_answer = true;
  one.run_time = seconds{20};
  test.submit(pushed("orders"));
  ASSERT_TRUE(test.has_ended("orders", seconds{25}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
  EXPECT_THAT(one.calls, SizeIs(1));
  EXPECT_THAT(two.calls, IsEmpty());
}

TEST(Push, CallWithAnUnreadableAnswerWaitsForItsResult) {
  Pushed test;
  auto& one = test.executor(kOne);
  auto& two = test.executor(kTwo);
  one.answers = "<html>";
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{60});
  EXPECT_THAT(two.calls, IsEmpty());
  EXPECT_TRUE(test.tell({{.log_id = one.calls.at(0).log_id}}).ok());
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
}

TEST(Push, OnlyTheFirstResultOfARunCounts) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.is_silent = true;
  one.run_time = minutes{1};
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  const std::int64_t log_id = one.calls.at(0).log_id;
  EXPECT_TRUE(test.tell({{.log_id = log_id, .code = 200, .message = "first"},
                         {.log_id = log_id, .code = 500, .message = "second"},
                         {.log_id = 12345, .code = 500},
                         {.log_id = -1, .code = 500}})
                  .ok());
  EXPECT_TRUE(test.tell({{.log_id = log_id, .code = 500, .message = "third"}}).ok());
  ASSERT_THAT(test.bundle.log("orders"), SizeIs(1));
  EXPECT_EQ(test.bundle.log("orders")[0].message, "first");
  EXPECT_EQ(test.bundle.stat("executor_late_results_total"), 4);
}

TEST(Push, FailedRunIsRetriedAndItsResultCodesAreRecorded) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.code = 502;
  one.message = "job execute timeout ";
  JobSpec job = pushed("orders");
  job.retries = {.max = 1, .base = seconds{1}};
  test.submit(job);
  test.bundle.run_until([&] { return one.calls.size() == 1; });
  test.bundle.run_for(milliseconds{500});
  one.code = 500;
  one.message = "boom";
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kTimedOut, LogState::kFailed));
  EXPECT_EQ(test.bundle.log("orders")[1].message, "boom");
}

TEST(Push, RetryUsesAnotherExecutor) {
  for (const Route route : {Route::kFirst, Route::kFailover, Route::kBusyover}) {
    SCOPED_TRACE(static_cast<int>(route));
    Pushed test;
    test.executor(kOne).code = 500;
    auto& two = test.executor(kTwo);
    JobSpec job = pushed("orders", route);
    job.retries = {.max = 1, .base = seconds{1}};
    test.submit(job);
    ASSERT_TRUE(test.has_ended("orders"));
    EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kFailed, LogState::kSucceeded));
    EXPECT_THAT(two.calls, SizeIs(1));
  }
}

TEST(Push, TriggerPathOfAnExecutorIsRememberedOverARestart) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.lacks = "run";
  test.submit(pushed("first"));
  ASSERT_TRUE(test.has_ended("first", seconds{1}));
  test.bundle.restart_after(seconds{1});
  test.submit(pushed("second"));
  ASSERT_TRUE(test.has_ended("second", seconds{5}));
  EXPECT_THAT(one.paths, ElementsAre("run", "trigger", "trigger"));
}

TEST(Push, ReturnToTheRunPathIsRememberedOverARestart) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.lacks = "run";
  test.submit(pushed("first"));
  ASSERT_TRUE(test.has_ended("first", seconds{1}));
  one.lacks = "trigger";
  test.submit(pushed("second"));
  ASSERT_TRUE(test.has_ended("second", seconds{5}));
  test.bundle.restart_after(seconds{1});
  test.submit(pushed("third"));
  ASSERT_TRUE(test.has_ended("third", seconds{5}));
  EXPECT_EQ(test.ended("third").back(), LogState::kSucceeded);
  EXPECT_THAT(one.paths, ElementsAre("run", "trigger", "trigger", "run", "run"));
}

TEST(Push, ConcurrentCallsLearnTheExecutorPath) {
  Pushed test;
  test.executor(kOne).lacks = "run";
  for (int i = 0; i < 20; ++i) test.bundle.client.submit({pushed("job-at-" + std::to_string(i))});
  test.bundle.run_for(seconds{5});
  EXPECT_THAT(test.bundle.log(), SizeIs(20));
  for (const auto& entry : test.bundle.log()) EXPECT_EQ(entry.state, LogState::kSucceeded);
}

TEST(Push, HangingExecutorDelaysNoOtherExecutor) {
  Pushed test;
  test.executor(kOne).hangs = true;
  test.executor(kTwo);
  for (int i = 0; i < 200; ++i) {
    JobSpec job = pushed("job-at-" + std::to_string(i));
    job.push.addresses = {i % 2 == 0 ? kOne : kTwo};
    test.submit(job);
  }
  test.bundle.run_for(milliseconds{500});
  EXPECT_EQ(test.calls_of(kTwo), 100U);
}

TEST(Push, ConcurrentCallsStayWithinTheirLimit) {
  for (const Route route : {Route::kFirst, Route::kFailover, Route::kBusyover}) {
    SCOPED_TRACE(static_cast<int>(route));
    Pushed test{.bundle =
                    TrackerBundle({.tracker = {.pusher = {.claims_max = 30, .calls_max = 10}}})};
    auto& one = test.executor(kOne);
    std::vector<JobSpec> jobs;
    for (int i = 0; i < 100; ++i) jobs.push_back(pushed("job-at-" + std::to_string(i), route));
    test.bundle.submit(std::move(jobs));
    test.bundle.run_for(seconds{5});
    EXPECT_THAT(one.calls, SizeIs(100));
    EXPECT_EQ(test.bundle.executors.most_under_way, 10);
    EXPECT_THAT(test.bundle.log(), SizeIs(100));
  }
}

TEST(Push, FailoverAndBusyoverSkipAHangingExecutor) {
  for (const Route route : {Route::kFailover, Route::kBusyover}) {
    SCOPED_TRACE(static_cast<int>(route));
    Pushed test{.bundle = TrackerBundle({.tracker = {.pusher = {.calls_max = 10}}})};
    test.executor(kOne).hangs = true;
    auto& two = test.executor(kTwo);
    std::vector<JobSpec> jobs;
    for (int i = 0; i < 100; ++i) jobs.push_back(pushed("job-at-" + std::to_string(i), route));
    test.bundle.submit(std::move(jobs));
    test.bundle.run_for(seconds{5});
    EXPECT_THAT(two.calls, SizeIs(100));
    for (const auto& entry : test.bundle.log()) EXPECT_EQ(entry.state, LogState::kSucceeded);
    EXPECT_THAT(test.bundle.log(), SizeIs(100));
  }
}

TEST(Push, ConcurrentRunsStayWithinTheirLimit) {
  Pushed test{.bundle = TrackerBundle({.tracker = {.pusher = {.runs_max = 10}}})};
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  one.run_time = seconds{10};
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 35; ++i) jobs.push_back(pushed("job-at-" + std::to_string(i)));
  test.bundle.submit(std::move(jobs));
  std::size_t most = 0;
  const auto have_ended = [&](std::size_t count) {
    most = std::max(most, one.running.size());
    return test.bundle.tables().log.size() == count;
  };
  ASSERT_TRUE(test.bundle.run_until([&] { return have_ended(10); }));
  test.bundle.run_for(seconds{5});
  test.bundle.restart_after(seconds{1});
  ASSERT_TRUE(test.bundle.run_until([&] { return have_ended(35); }));
  EXPECT_EQ(most, 10U);
  EXPECT_THAT(one.calls, SizeIs(35));
}

TEST(Push, BroadcastShardsStayWithinTheRunLimit) {
  Pushed test{.bundle = TrackerBundle({.tracker = {.pusher = {.runs_max = 10}}})};
  for (const std::string& address : {kOne, kTwo, kThree}) {
    test.executor(address).run_time = seconds{10};
  }
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 8; ++i) {
    jobs.push_back(pushed("job-at-" + std::to_string(i), Route::kShardingBroadcast));
  }
  test.bundle.submit(std::move(jobs));
  std::size_t most = 0;
  ASSERT_TRUE(test.bundle.run_until([&] {
    most = std::max(most, test.bundle.tables().push_runs.size());
    return test.bundle.tables().log.size() == 8 * 4;
  }));
  EXPECT_EQ(most, 9U);
}

TEST(Push, EndedRunsAreForgottenWhileTheStoreIsOverloaded) {
  Pushed test{.bundle = TrackerBundle({.tracker = {.batcher = {.completion_wait = milliseconds{5},
                                                               .rows_min = 16,
                                                               .rows_max = 16},
                                                   .pusher = {.claims_max = 200}}})};
  test.executor(kOne).run_time = milliseconds{1};
  JobSpec job = pushed("orders");
  job.schedule = {.kind = ScheduleKind::kAt, .at = test.bundle.now() + minutes{1}};
  job.task_id.clear();
  for (int i = 0; i < 4; ++i) test.bundle.submit(std::vector<JobSpec>(500, job));
  std::size_t most = 0;
  ASSERT_TRUE(test.bundle.run_until([&] {
    most = std::max(most, test.bundle.tables().push_runs.size());
    return test.bundle.tables().log.size() == 2000;
  }));
  EXPECT_LT(most, 1000U);
}

TEST(Push, CallsThatCannotBePostedWaitInsteadOfFailing) {
  Pushed test;
  test.executor(kOne);
  test.bundle.executors.takes_no_more = true;
  test.submit(pushed("one"));
  test.submit(pushed("two", Route::kFailover));
  test.submit(pushed("three", Route::kShardingBroadcast));
  test.bundle.run_for(seconds{10});
  EXPECT_THAT(test.bundle.log(), IsEmpty());
  test.bundle.executors.takes_no_more = false;
  for (const char* task : {"one", "two", "three"}) {
    ASSERT_TRUE(test.has_ended(task, seconds{2})) << task;
    EXPECT_EQ(test.ended(task).back(), LogState::kSucceeded) << task;
  }
}

TEST(Push, CallsWithoutAFreeConnectionWaitInsteadOfFailing) {
  for (const Route route : {Route::kFirst, Route::kFailover, Route::kBusyover}) {
    SCOPED_TRACE(static_cast<int>(route));
    Pushed test;
    auto& one = test.executor(kOne);
    one.crowded = 150;  // each of them three times
    for (int i = 0; i < 50; ++i) test.submit(pushed("job-at-" + std::to_string(i), route));
    test.bundle.run_for(seconds{30});
    EXPECT_THAT(one.calls, SizeIs(50));
    for (const auto& entry : test.bundle.log()) EXPECT_EQ(entry.state, LogState::kSucceeded);
    EXPECT_THAT(test.bundle.log(), SizeIs(50));
  }
}

TEST(Push, CallsWithoutAFreeConnectionGoToAnotherExecutor) {
  for (const Route route : {Route::kFirst, Route::kFailover, Route::kBusyover}) {
    SCOPED_TRACE(static_cast<int>(route));
    Pushed test;
    auto& one = test.executor(kOne);
    auto& two = test.executor(kTwo);
    one.crowded = 1000;
    test.submit(pushed("orders", route));
    ASSERT_TRUE(test.has_ended("orders", seconds{5}));
    EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
    EXPECT_THAT(one.calls, IsEmpty());
    EXPECT_THAT(two.calls, SizeIs(1));
  }
}

TEST(Push, WaitingCallsMoveToANewExecutorWhenTheirsLeaves) {
  for (const Route route : {Route::kFirst, Route::kFailover, Route::kBusyover}) {
    SCOPED_TRACE(static_cast<int>(route));
    Pushed test;
    test.executor(kOne).crowded = 1000;
    test.submit(pushed("orders", route));
    test.bundle.run_for(seconds{10});
    EXPECT_THAT(test.bundle.log("orders"), IsEmpty());
    EXPECT_TRUE(test.register_at(kOne, true).ok());
    test.bundle.run_for(seconds{10});
    EXPECT_THAT(test.bundle.log("orders"), IsEmpty());
    test.executor(kTwo);
    ASSERT_TRUE(test.has_ended("orders", seconds{10}));
    EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
  }
}

TEST(Push, RunTimeoutStartsWhenTheCallIsSent) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.run_time = seconds{2};
  test.keep_registering(kOne);
  JobSpec job = pushed("orders");
  job.timeout = seconds{3};
  test.bundle.executors.takes_no_more = true;
  test.submit(job);
  test.bundle.run_for(seconds{30});
  test.bundle.executors.takes_no_more = false;
  ASSERT_TRUE(test.has_ended("orders", seconds{20}));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
}

TEST(Push, HangingExecutorDelaysNoOthersInItsGroup) {
  Pushed test;
  test.executor(kOne).hangs = true;
  auto& two = test.executor(kTwo);
  JobSpec job = pushed("", Route::kRound);
  // 2000 a second: after the first time-outs none is for the one that hangs.
  for (int i = 0; i < 100; ++i) {
    test.bundle.submit(std::vector<JobSpec>(200, job));
    test.bundle.run_for(milliseconds{100});
  }
  test.bundle.run_for(seconds{1});
  EXPECT_GE(two.calls.size(), 16'000U);
}

TEST(Push, RevivedExecutorIsCalledAgainOnceItRegisters) {
  Pushed test;
  test.executor(kOne);
  test.executor(kTwo);
  test.bundle.executors.kill(kOne);
  test.submit(pushed("first"));
  ASSERT_TRUE(test.has_ended("first"));
  test.bundle.executors.at(kOne).is_up = true;
  test.submit(pushed("second"));
  ASSERT_TRUE(test.has_ended("second"));
  EXPECT_EQ(test.bundle.log("second")[0].node, kTwo);
  EXPECT_TRUE(test.register_at(kOne).ok());
  test.submit(pushed("third"));
  ASSERT_TRUE(test.has_ended("third"));
  EXPECT_EQ(test.bundle.log("third")[0].node, kOne);
}

TEST(Push, JobAddressesOutsideItsGroupAreNotCalled) {
  Pushed test;
  test.executor(kOne);
  test.bundle.executors.add(kTwo);
  JobSpec job = pushed("orders");
  job.push.addresses = {kTwo};
  test.submit(job);
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_THAT(test.bundle.log("orders")[0].message, HasSubstr("none of the job's addresses"));
  EXPECT_EQ(test.calls_of(kTwo), 0U);
}

// It does not know the runs that its successor started, and must leave their results to it.
TEST(Push, AFencedJobTrackerConfirmsNoResult) {
  Pushed test;
  test.executor(kOne);
  const std::vector<wire::xxl::RunResult> result{{.log_id = 64'000, .code = 200}};
  EXPECT_TRUE(test.tell(result).ok());
  const MemoryStore successor(test.bundle.database,
                              {.session = SessionId{100}, .name = "successor"}, test.bundle.clock);
  EXPECT_FALSE(test.tell(result).ok());
}

TEST(Push, ResultReceivedByAnotherJobTrackerEndsTheRun) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.is_silent = true;
  one.run_time = minutes{1};
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  // As the other stores it, which has died since.
  Batch batch;
  batch.operations.emplace_back(PutExecutorResult{
      {.id = 1, .log_id = one.calls.at(0).log_id, .code = 200, .message = "by another"}});
  batch.operations.emplace_back(PutExecutorResult{{.id = 2, .log_id = 4711, .code = 200}});
  ASSERT_TRUE(std::holds_alternative<Committed>(test.bundle.database.apply(batch)));
  test.bundle.restart_after(seconds{1});
  ASSERT_TRUE(test.has_ended("orders", seconds{2}));
  EXPECT_EQ(test.bundle.log("orders")[0].message, "by another");
  test.bundle.run_for(seconds{2});
  EXPECT_THAT(test.bundle.tables().executor_results, IsEmpty());
}

TEST(Push, EarlierResultReceivedByAnotherJobTrackerWins) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.is_silent = true;
  one.run_time = minutes{1};
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  ClusterView view{.trackers = {{.session = SessionId{1}}, {.session = SessionId{2}}},
                   .proven = test.bundle.clock.steady_now()};
  test.bundle.tracker().on_cluster(view);
  const std::int64_t log_id = one.calls.at(0).log_id;
  Batch batch;
  batch.operations.emplace_back(
      PutExecutorResult{{.id = 1, .log_id = log_id, .code = 500, .message = "told another"}});
  ASSERT_TRUE(std::holds_alternative<Committed>(test.bundle.database.apply(batch)));
  ASSERT_TRUE(test.tell({{.log_id = log_id, .code = 200, .message = "told the owner"}}).ok());
  ASSERT_TRUE(test.has_ended("orders", seconds{2}));
  EXPECT_EQ(test.bundle.log("orders")[0].message, "told another");
}

// A run of "orders" without an end, and another job tracker that may be told it.
std::int64_t begin_beside_another(Pushed& test) {
  auto& one = test.executor(kOne);
  one.is_silent = true;
  one.run_time = minutes{5};
  test.submit(pushed("orders"));
  test.bundle.run_for(seconds{1});
  test.bundle.tracker().on_cluster(
      ClusterView{.trackers = {{.session = SessionId{1}}, {.session = SessionId{2}}},
                  .proven = test.bundle.clock.steady_now() + minutes{1}});
  return one.calls.at(0).log_id;
}

TEST(Push, EarlierResultWinsBehindThousandsOfOtherResults) {
  Pushed test;
  const std::int64_t log_id = begin_beside_another(test);
  Batch batch;
  for (std::int64_t id = 1; id <= 2'000; ++id)
    batch.operations.emplace_back(PutExecutorResult{{.id = id, .log_id = id, .code = 200}});
  batch.operations.emplace_back(
      PutExecutorResult{{.id = 2'001, .log_id = log_id, .code = 500, .message = "told another"}});
  ASSERT_TRUE(std::holds_alternative<Committed>(test.bundle.database.apply(batch)));
  ASSERT_TRUE(test.tell({{.log_id = log_id, .code = 200, .message = "told the owner"}}).ok());
  ASSERT_TRUE(test.has_ended("orders", seconds{2}));
  EXPECT_EQ(test.bundle.log("orders")[0].message, "told another");
  test.bundle.run_for(seconds{5});
  EXPECT_THAT(test.bundle.tables().executor_results, IsEmpty());
}

TEST(Push, EarlierResultWinsWhenReadingItIsDelayed) {
  Pushed test;
  const std::int64_t log_id = begin_beside_another(test);
  Batch batch;
  batch.operations.emplace_back(
      PutExecutorResult{{.id = 1, .log_id = log_id, .code = 500, .message = "told another"}});
  ASSERT_TRUE(std::holds_alternative<Committed>(test.bundle.database.apply(batch)));
  test.bundle.connection().refuses = [](const Read& question) {
    return std::holds_alternative<ReadExecutorResults>(question);
  };
  std::optional<Status> answer;
  ExecutorResults told;
  told.results.push_back({.log_id = log_id, .code = 200, .message = "told the owner"});
  test.bundle.tracker().on_executor(std::move(told), [&](Status status) { answer = status; });
  test.bundle.run_for(seconds{2});
  EXPECT_FALSE(answer) << "it waits";
  test.bundle.connection().refuses = [](const Read&) { return false; };
  ASSERT_TRUE(test.has_ended("orders", seconds{2}));
  EXPECT_EQ(test.bundle.log("orders")[0].message, "told another");
  test.bundle.run_for(seconds{1});
  EXPECT_TRUE(answer && answer->ok());
}

// ---- restarts ----

TEST(Push, RunSurvivesARestartWithoutASecondCall) {
  Pushed test;
  auto& one = test.executor(kOne);
  one.run_time = seconds{20};
  test.submit(pushed("orders"));
  test.bundle.run_until([&] { return one.calls.size() == 1; });
  test.bundle.restart_after(seconds{10});
  test.bundle.run_for(seconds{30});
  EXPECT_THAT(one.calls, SizeIs(1));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kSucceeded));
  EXPECT_EQ(test.bundle.log("orders")[0].node, kOne);
}

TEST(Push, LogIdsStayUniqueOverRestartsWithClockMovedBack) {
  Pushed test;
  auto& one = test.executor(kOne);
  const WallTime then = test.bundle.now();
  for (int session = 0; session < 4; ++session) {
    test.keep_registering(kOne);
    for (int i = 0; i < 100; ++i) test.submit(pushed("orders " + std::to_string(i)));
    test.bundle.run_until([&] { return one.calls.size() == 100U * (session + 1U); });
    test.bundle.run_for(seconds{5});
    ASSERT_THAT(test.bundle.tables().push_runs, IsEmpty()) << "nothing tells the next session";
    test.bundle.clock.set_wall(then - minutes{session});
    test.bundle.restart_after(milliseconds{50});
  }
  std::set<std::int64_t> ids;
  for (const auto& call : one.calls) ids.insert(call.log_id);
  EXPECT_THAT(ids, SizeIs(400));
}

TEST(Push, JobRunsOnceWheneverTheJobTrackerDies) {
  for (int step = 0; step < 60; ++step) {
    Pushed test;
    auto& one = test.executor(kOne);
    test.keep_registering(kOne);
    one.run_time = seconds{5};
    test.bundle.client.submit({pushed("orders")});
    test.bundle.run_for(std::chrono::microseconds{150 * step});
    const bool commit_lands = step % 2 == 0;
    test.bundle.restart_after(seconds{1}, commit_lands);
    test.bundle.run_for(minutes{3});
    SCOPED_TRACE(step);
    EXPECT_THAT(one.calls, SizeIs(1)) << test.bundle.story("orders");
    // What was stored to be called and was not is found lost.
    ASSERT_FALSE(test.ended("orders").empty());
    EXPECT_EQ(test.ended("orders").back(), LogState::kSucceeded);
    EXPECT_THAT(test.bundle.tables().push_runs, IsEmpty());
  }
}

TEST(Push, RunWithItsResultLostInARestartIsRetried) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  one.is_silent = true;  // The result was told while nobody was there, and is not told again.
  test.submit(pushed("orders"));
  test.bundle.run_until([&] { return one.calls.size() == 1; });
  test.bundle.restart_after(seconds{1});
  one.is_silent = false;
  test.bundle.run_for(seconds{80});
  EXPECT_THAT(one.calls, SizeIs(1)) << "it may be told again";
  ASSERT_TRUE(test.has_ended("orders"));
  EXPECT_THAT(test.ended("orders"), ElementsAre(LogState::kLost, LogState::kSucceeded));
}

TEST(Push, LogIdsAreUniqueAndFitJavaScriptNumbers) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.keep_registering(kOne);
  one.run_time = seconds{1};
  for (int life = 0; life < 2; ++life) {
    for (int i = 0; i < 300; ++i) {
      test.submit(pushed("task-" + std::to_string(life) + "-" + std::to_string(i)));
    }
    test.bundle.run_for(milliseconds{10});
    test.bundle.restart_after(milliseconds{10});
    test.bundle.run_for(seconds{10});
  }
  std::set<std::int64_t> ids;
  for (const auto& call : one.calls) ids.insert(call.log_id);
  EXPECT_GE(ids.size(), 600U);
  EXPECT_EQ(ids.size(), one.calls.size());
  EXPECT_GT(*ids.begin(), 0);
  EXPECT_LT(*ids.rbegin(), std::int64_t{1} << 53);
}

TEST(Push, RoundRobinContinuesAfterARestart) {
  Pushed test;
  for (const std::string& address : {kOne, kTwo, kThree}) test.executor(address);
  JobSpec job = pushed("orders", Route::kRound);
  job.schedule = {.kind = ScheduleKind::kManual};
  test.submit(job);
  std::vector<std::string> nodes;
  for (int i = 0; i < 6; ++i) {
    test.bundle.act({.verb = wire::Verb::kTrigger, .group = "app", .task_id = "orders"});
    test.bundle.run_for(seconds{1});
    nodes.push_back(test.bundle.log("orders").back().node);
    if (i == 2) test.bundle.restart_after(milliseconds{100});
  }
  EXPECT_THAT((std::vector<std::string>{nodes.begin(), nodes.begin() + 3}),
              UnorderedElementsAre(kOne, kTwo, kThree));
  EXPECT_EQ((std::vector<std::string>{nodes.begin(), nodes.begin() + 3}),
            (std::vector<std::string>{nodes.begin() + 3, nodes.end()}));
}

}  // namespace
}  // namespace carillon::jobtracker
