#include "tasktracker/executor/job_threads.h"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tasktracker/executor/executor_bundle.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::xxl::BlockStrategy;
using wire::xxl::Reply;
using wire::xxl::RunCall;
using wire::xxl::RunResult;

constexpr std::int64_t kJob = 1;

RunCall with_block(RunCall call, BlockStrategy block) {
  call.block = block;
  return call;
}

TEST(JobThreads, RunAHandlerAndReportItsResult) {
  ExecutorBundle b;
  RunCall call = ExecutorBundle::call(8812, "echo", "day=1");
  call.log_time_ms = 1719999000000;
  call.shard_index = 2;
  call.shard_total = 5;
  EXPECT_EQ(b.jobs->run(call), Reply{});
  EXPECT_EQ(
      b.results.take(),
      (RunResult{
          .log_id = 8812, .log_time_ms = 1719999000000, .code = 200, .message = "day=1 2/5"}));
  EXPECT_THAT(b.logs.read({.log_id = 8812, .log_time_ms = 1719999000000}, false).text,
              HasSubstr("echo of day=1\n"));
}

TEST(JobThreads, ReportAFailureWithItsMessage) {
  ExecutorBundle b;
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(1, "fail")).ok());
  EXPECT_EQ(b.results.take(), (RunResult{.log_id = 1, .code = 500, .message = "as it was told"}));
}

TEST(JobThreads, RefuseAnUnknownHandler) {
  ExecutorBundle b;
  EXPECT_EQ(b.jobs->run(ExecutorBundle::call(1, "nosuch")),
            (Reply{.code = 500, .message = "job handler [nosuch] not found."}));
  EXPECT_THAT(b.taken, IsEmpty());
}

TEST(JobThreads, RefuseGroovyAndUnknownScriptTypes) {
  ExecutorBundle b;
  EXPECT_THAT(b.jobs->run({.job_id = 1, .log_id = 1, .glue_type = "GLUE_GROOVY"}).message,
              HasSubstr("glueType[GLUE_GROOVY] is not valid. This executor has no JVM"));
  EXPECT_EQ(b.jobs->run({.job_id = 1, .log_id = 1, .glue_type = "GLUE_COBOL"}).message,
            "glueType[GLUE_COBOL] is not valid.");
}

TEST(JobThreads, RefuseScriptsWhenScriptsAreDisabled) {
  ExecutorBundle b({}, "because of a test");
  EXPECT_EQ(
      b.jobs->run({.job_id = 1, .log_id = 1, .glue_type = "GLUE_SHELL", .glue_source = "true"}),
      (Reply{.code = 500,
             .message = "fail, current glue type [GLUE_SHELL] not supported: because of a test"}));
}

TEST(JobThreads, RefuseADuplicateTrigger) {
  ExecutorBundle b;
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(1, "hold")).ok());
  EXPECT_EQ(b.jobs->run(ExecutorBundle::call(1, "hold")).message, "repeate trigger job, logId:1");
}

TEST(JobThreads, RunTriggersOfOneJobSerially) {
  ExecutorBundle b;
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(1, "hold")).ok());
  EXPECT_EQ(b.started.take(), 1);
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(2, "hold")).ok());
  EXPECT_TRUE(b.started.is_empty());
  EXPECT_EQ(b.jobs->idle_beat(kJob).message, "job thread is running or has trigger queue.");
}

TEST(JobThreads, RunDifferentJobsConcurrently) {
  ExecutorBundle b;
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(1, "hold")).ok());
  RunCall other = ExecutorBundle::call(2, "hold");
  other.job_id = 2;
  EXPECT_TRUE(b.jobs->run(other).ok());
  EXPECT_EQ(b.started.take() + b.started.take(), 3);
}

TEST(JobThreads, DiscardALaterTriggerOnlyWhileBusy) {
  ExecutorBundle b;
  EXPECT_TRUE(
      b.jobs->run(with_block(ExecutorBundle::call(1, "echo"), BlockStrategy::kDiscardLater)).ok());
  (void)b.results.take();
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(2, "echo")).ok());
  (void)b.results.take();
  RunCall held = ExecutorBundle::call(3, "hold");
  EXPECT_TRUE(b.jobs->run(held).ok());
  EXPECT_EQ(b.started.take(), 3);
  EXPECT_EQ(b.jobs->run(with_block(ExecutorBundle::call(4, "hold"), BlockStrategy::kDiscardLater)),
            (Reply{.code = 500, .message = "block strategy effect：Discard Later"}));
}

TEST(JobThreads, KillEarlierTriggersUnderCoverEarly) {
  ExecutorBundle b;
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(1, "hold")).ok());
  EXPECT_EQ(b.started.take(), 1);
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(2, "hold")).ok());
  EXPECT_TRUE(
      b.jobs->run(with_block(ExecutorBundle::call(3, "hold"), BlockStrategy::kCoverEarly)).ok());
  const RunResult first = b.results.take();
  EXPECT_EQ(first.log_id, 1);
  EXPECT_EQ(first.code, 500);
  EXPECT_EQ(first.message, "block strategy effect：Cover Early [job running, killed]");
  const RunResult second = b.results.take();
  EXPECT_EQ(second.log_id, 2);
  EXPECT_EQ(second.message,
            "block strategy effect：Cover Early [job not executed, in the job queue, killed.]");
  EXPECT_EQ(b.started.take(), 3);
}

TEST(JobThreads, StartACoveringRunOnlyAfterTheCoveredRunEnded) {
  ExecutorBundle b;
  std::promise<void> go_on;
  b.handlers["stubborn"] = [&](JobContext& context) {
    b.started.add(context.job().job_id.value);
    if (context.job().job_id.value == 1) soon(go_on.get_future());
    return RunReport::succeeded();
  };
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(1, "stubborn")).ok());
  EXPECT_EQ(b.started.take(), 1);
  EXPECT_TRUE(
      b.jobs->run(with_block(ExecutorBundle::call(2, "stubborn"), BlockStrategy::kCoverEarly))
          .ok());
  EXPECT_TRUE(b.started.is_empty());
  go_on.set_value();
  EXPECT_EQ(b.results.take().log_id, 1);
  EXPECT_EQ(b.started.take(), 2);
  EXPECT_EQ(b.results.take().log_id, 2);
}

TEST(JobThreads, ReplaceARunWhenTheHandlerChanges) {
  ExecutorBundle b;
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(1, "hold")).ok());
  EXPECT_EQ(b.started.take(), 1);
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(2, "echo")).ok());
  EXPECT_THAT(b.results.take().message.value_or(""), HasSubstr("change jobhandler or glue type"));
  EXPECT_EQ(b.results.take(), (RunResult{.log_id = 2, .message = " 0/1"}));
}

TEST(JobThreads, KeepARunWhenTheNewHandlerIsUnknown) {
  ExecutorBundle b;
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(1, "hold")).ok());
  EXPECT_EQ(b.started.take(), 1);
  EXPECT_FALSE(b.jobs->run(ExecutorBundle::call(2, "nosuch")).ok());
  EXPECT_TRUE(b.jobs->is_running(1));
}

TEST(JobThreads, KillARunAndItsQueuedTriggers) {
  ExecutorBundle b;
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(1, "hold")).ok());
  EXPECT_EQ(b.started.take(), 1);
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(2, "hold")).ok());
  EXPECT_EQ(b.jobs->kill(kJob), Reply{});
  EXPECT_EQ(b.results.take().message, "scheduling center kill job. [job running, killed]");
  EXPECT_EQ(b.results.take().message,
            "scheduling center kill job. [job not executed, in the job queue, killed.]");
  EXPECT_TRUE(b.jobs->idle_beat(kJob).ok());
  EXPECT_EQ(b.jobs->kill(kJob), (Reply{.code = 200, .message = "job thread already killed."}));
}

TEST(JobThreads, ReportATimeoutWithItsOwnCode) {
  ExecutorBundle b;
  RunCall call = ExecutorBundle::call(1, "hold");
  call.timeout_s = 3;
  EXPECT_TRUE(b.jobs->run(call).ok());
  EXPECT_EQ(b.started.take(), 1);
  EXPECT_EQ(b.jobs->stop_late_runs(b.clock.steady_now()), b.clock.steady_now() + seconds{3});
  b.clock.advance(seconds{3});
  EXPECT_EQ(b.jobs->stop_late_runs(b.clock.steady_now()), std::nullopt);
  EXPECT_EQ(b.results.take(),
            (RunResult{.log_id = 1, .code = 502, .message = "job execute timeout after 3s"}));
}

TEST(JobThreads, CallInitBeforeAllRunsAndDestroyAfterThem) {
  ExecutorBundle b;
  ExecutorBundle::Queue<std::string> calls;
  b.hooks["echo"] = {.init = [&]() -> Status {
                       calls.add("init");
                       return {};
                     },
                     .destroy = [&] { calls.add("destroy"); }};
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(1, "echo")).ok());
  EXPECT_EQ(b.results.take().code, 200);
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(2, "echo")).ok());
  EXPECT_EQ(b.results.take().code, 200);
  EXPECT_TRUE(b.jobs->kill(kJob).ok());
  EXPECT_EQ(calls.take(), "init");
  EXPECT_EQ(calls.take(), "destroy");
  EXPECT_TRUE(calls.is_empty());
}

TEST(JobThreads, FailARunWhoseInitFailsThenRetryInit) {
  ExecutorBundle b;
  int inits = 0;
  b.hooks["echo"].init = [&]() -> Status {
    if (++inits == 1) throw std::runtime_error("no database");
    return {};
  };
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(1, "echo")).ok());
  EXPECT_EQ(b.results.take().message, "init of handler 'echo': the handler threw: no database");
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(2, "echo")).ok());
  EXPECT_EQ(b.results.take().code, 200);
}

TEST(JobThreads, EndAnIdleThread) {
  ExecutorBundle b({.idle_max = Duration{0}});
  ExecutorBundle::Queue<std::string> calls;
  b.hooks["echo"].destroy = [&] { calls.add("destroy"); };
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(1, "echo")).ok());
  EXPECT_EQ(calls.take(), "destroy");
  EXPECT_EQ(b.results.take().code, 200);
  // And begin another one.
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(2, "echo")).ok());
  EXPECT_EQ(calls.take(), "destroy");
}

TEST(JobThreads, EndTheLongestIdleThreadWhenTheLimitIsReached) {
  ExecutorBundle::Queue<std::string> destroyed;
  ExecutorBundle b({.threads_max = 2});
  for (const std::string name : {"first", "second", "third"}) {
    b.handlers[name] = [](JobContext&) { return RunReport::succeeded(); };
    b.hooks[name].destroy = [&destroyed, name] { destroyed.add(name); };
  }
  std::int64_t log_id = 0;
  const auto run = [&](std::int64_t job, const std::string& handler) {
    b.clock.advance(seconds{1});
    RunCall call = ExecutorBundle::call(++log_id, handler);
    call.job_id = job;
    EXPECT_EQ(b.jobs->run(call), Reply{});
    EXPECT_EQ(b.results.take().code, 200);
  };
  run(1, "first");
  run(2, "second");
  run(1, "first");
  run(3, "third");
  EXPECT_EQ(destroyed.take(), "second");
  EXPECT_TRUE(destroyed.is_empty());
}

TEST(JobThreads, RefuseTriggersOnceClosed) {
  ExecutorBundle b;
  b.jobs->close();
  EXPECT_EQ(b.jobs->run(ExecutorBundle::call(1, "echo")).message, "the executor is stopping");
}

TEST(JobThreads, StopAndReportAllRuns) {
  ExecutorBundle b;
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(1, "hold")).ok());
  EXPECT_EQ(b.started.take(), 1);
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(2, "hold")).ok());
  b.jobs->stop_all("the executor stops", false);
  EXPECT_TRUE(b.jobs->wait_reported(seconds{60}));
  // A handler that ended well in spite of it knows best.
  EXPECT_EQ(b.results.take(), (RunResult{.log_id = 1, .message = "let go"}));
  EXPECT_EQ(b.results.take().message,
            "the executor stops [job not executed, in the job queue, killed.]");
}

TEST(JobThreads, RefuseTriggersBeyondTheirLimits) {
  ExecutorBundle b({.threads_max = 1, .waiting_max = 1});
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(1, "hold")).ok());
  EXPECT_EQ(b.started.take(), 1);
  RunCall other = ExecutorBundle::call(2, "hold");
  other.job_id = 2;
  EXPECT_THAT(b.jobs->run(other).message, HasSubstr("1 running or waiting jobs, the maximum"));
  EXPECT_TRUE(b.jobs->run(ExecutorBundle::call(3, "hold")).ok());
  EXPECT_THAT(b.jobs->run(ExecutorBundle::call(4, "hold")).message,
              HasSubstr("1 waiting triggers, the maximum"));
}

}  // namespace
}  // namespace carillon::tasktracker
