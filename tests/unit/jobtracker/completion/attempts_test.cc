#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// How attempts end, and what follows.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_at;
using carillon::testing::job_cron;
using carillon::testing::job_every;
using carillon::testing::job_now;
using carillon::testing::states;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::RunOutcome;

std::vector<std::int32_t> attempts(const std::vector<LogEntry>& log) {
  std::vector<std::int32_t> all;
  for (const LogEntry& entry : log) all.push_back(entry.attempt);
  return all;
}

// The outcomes of a job's attempts, one after the other; the last for all that follow.
void ends_with(FakeWorker& worker, std::vector<RunOutcome> outcomes) {
  worker.behaviour = [outcomes](const wire::HandedJob& job, const JobSpec&) {
    const auto at = std::min(static_cast<std::size_t>(job.id.attempt), outcomes.size()) - 1;
    return FakeRun{.outcome = outcomes[at], .later = seconds{20}};
  };
}

JobSpec retried(int max, RetryPolicy policy = {}) {
  JobSpec job = job_now("a");
  job.retries = policy;
  job.retries.max = max;
  return job;
}

TEST(Attempts, ExceptionIsRetriedWhileRetriesRemain) {
  TrackerBundle bundle;
  ends_with(bundle.add_worker(), {RunOutcome::kException});
  bundle.submit(retried(2, {.base = seconds{10}}));
  bundle.run_for(minutes{2});
  const auto runs = bundle.runs();
  ASSERT_THAT(runs, SizeIs(3));
  EXPECT_GE(runs[1].started - *runs[0].ended, seconds{10});
  EXPECT_LE(runs[1].started - *runs[0].ended, seconds{10} + milliseconds{10});
  const auto log = bundle.log("a");
  EXPECT_THAT(states(log), ElementsAre(LogState::kFailed, LogState::kFailed, LogState::kFailed));
  EXPECT_THAT(attempts(log), ElementsAre(1, 2, 3));
  EXPECT_FALSE(log[0].final);
  EXPECT_FALSE(log[1].final);
  EXPECT_TRUE(log[2].final);
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Attempts, FailureIsNotRetriedByDefault) {
  TrackerBundle bundle;
  ends_with(bundle.add_worker(), {RunOutcome::kException});
  bundle.submit(job_now("a"));
  bundle.run_for(hours{1});
  EXPECT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Attempts, ExponentialBackoffDoublesUpToItsCap) {
  TrackerBundle bundle;
  ends_with(bundle.add_worker(), {RunOutcome::kTimedOut});
  bundle.submit(
      retried(4, {.policy = RetryBackoff::kExponential, .base = seconds{10}, .cap = seconds{35}}));
  bundle.run_for(minutes{10});
  const auto runs = bundle.runs();
  ASSERT_THAT(runs, SizeIs(5));
  std::vector<std::int64_t> waits;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    waits.push_back((runs[i].started - *runs[i - 1].ended) / seconds{1});
  }
  EXPECT_THAT(waits, ElementsAre(10, 20, 35, 35));
  EXPECT_EQ(bundle.log("a")[0].state, LogState::kTimedOut);
}

TEST(Attempts, PermanentFailureIsNotRetried) {
  TrackerBundle bundle;
  ends_with(bundle.add_worker(), {RunOutcome::kFailed});
  bundle.submit(retried(5));
  bundle.run_for(hours{1});
  EXPECT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Attempts, LaterReschedulesTheJobWithoutCountingAFailure) {
  TrackerBundle bundle;
  ends_with(bundle.add_worker(), {RunOutcome::kLater, RunOutcome::kLater, RunOutcome::kException,
                                  RunOutcome::kSucceeded});
  bundle.submit(retried(1, {.base = seconds{1}}));
  bundle.run_for(minutes{2});
  const auto log = bundle.log("a");
  EXPECT_THAT(states(log), ElementsAre(LogState::kLater, LogState::kLater, LogState::kFailed,
                                       LogState::kSucceeded));
  const auto runs = bundle.runs();
  EXPECT_GE(runs[1].started - *runs[0].ended, seconds{20});
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Attempts, RetriesOfARunPrecedeItsDefinitionsNextFire) {
  TrackerBundle bundle;
  ends_with(bundle.add_worker(), {RunOutcome::kException, RunOutcome::kSucceeded});
  JobSpec job = job_every("a", seconds{10});
  job.retries = {.max = 1, .base = seconds{25}};
  bundle.submit(job);
  bundle.run_for(seconds{40});
  const auto runs = bundle.runs();
  ASSERT_GE(runs.size(), 3U);
  EXPECT_EQ(runs[0].id.job_id, runs[1].id.job_id);
  EXPECT_NE(runs[2].id.job_id, runs[1].id.job_id);
  EXPECT_EQ(runs[2].trigger_time - runs[0].trigger_time, seconds{30});
}

TEST(Attempts, RetriesKeepTheTriggerTime) {
  TrackerBundle bundle;
  ends_with(bundle.add_worker(),
            {RunOutcome::kLater, RunOutcome::kException, RunOutcome::kSucceeded});
  const WallTime at = bundle.now() + seconds{5};
  JobSpec job = job_at("a", at);
  job.retries = {.max = 1, .base = minutes{30}};
  bundle.submit(job);
  bundle.run_for(seconds{10});
  ASSERT_THAT(bundle.waiting("a"), SizeIs(1));
  EXPECT_EQ(bundle.waiting("a")[0].trigger_time, at);
  EXPECT_GE(due_time(bundle.waiting("a")[0]), at + seconds{20});
  bundle.restart_after(seconds{1});
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.delayed(), SizeIs(1)) << "its retry is far off";
  bundle.run_for(hours{1});
  const auto runs = bundle.runs();
  ASSERT_THAT(runs, SizeIs(3));
  for (const auto& run : runs) EXPECT_EQ(run.trigger_time, at) << run.id.attempt;
  const auto log = bundle.log("a");
  ASSERT_THAT(log, SizeIs(3));
  for (const LogEntry& entry : log) EXPECT_EQ(entry.trigger_time, at) << entry.attempt;
  EXPECT_GE(runs[1].started - *runs[0].ended, seconds{20});
  EXPECT_GE(runs[2].started - *runs[1].ended, minutes{30});
}

TEST(Attempts, RetryRunsAfterJobsThatAreDueBeforeIt) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 1});
  worker.behaviour = [](const wire::HandedJob& job, const JobSpec&) {
    if (job.task_id == "busy") return FakeRun{.time = minutes{1}};
    return FakeRun{.outcome = job.task_id == "a" && job.id.attempt == 1 ? RunOutcome::kException
                                                                        : RunOutcome::kSucceeded};
  };
  bundle.submit(retried(1, {.base = seconds{20}}));
  bundle.run_for(seconds{1});
  bundle.submit(job_now("busy"));
  bundle.run_for(seconds{9});
  bundle.submit(job_now("between"));
  bundle.run_for(minutes{2});
  std::vector<std::string> order;
  for (const auto& run : bundle.runs()) order.push_back(run.task_id);
  EXPECT_THAT(order, ElementsAre("a", "busy", "between", "a"));
}

TEST(Attempts, RetryDoesNotCountAsAFireOfItsDefinition) {
  TrackerBundle bundle;
  ends_with(bundle.add_worker(), {RunOutcome::kException, RunOutcome::kSucceeded});
  JobSpec job = job_cron("a", "0 0 0 * * ?");
  job.retries = {.max = 1, .base = minutes{2}};
  bundle.submit(job);
  bundle.run_for(hours{25});
  ASSERT_THAT(bundle.runs(), SizeIs(2));
  const WallTime midnight = bundle.runs()[0].trigger_time;
  EXPECT_EQ(midnight, std::chrono::floor<std::chrono::days>(midnight));
  EXPECT_EQ(bundle.runs()[1].trigger_time, midnight);
  EXPECT_EQ(bundle.definition("a")->last_fire, midnight);
}

TEST(Attempts, LongMessageIsTruncatedAtACharacterBoundary) {
  TrackerBundle bundle;
  std::string message;
  for (int i = 0; i < 3000; ++i) message += "\xE2\x98\x83";  // a snowman
  bundle.add_worker().behaviour = [message](const auto&, const auto&) {
    return FakeRun{.message = message};
  };
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{5});
  ASSERT_THAT(bundle.log("a"), SizeIs(1));
  const std::string kept = bundle.log("a")[0].message;
  EXPECT_LE(kept.size(), 4096U);
  EXPECT_EQ(kept.size() % 3, 0U);
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Attempts, DeadWorkersJobRerunsWithinFiveSecondsWithoutAFailure) {
  TrackerBundle bundle;
  auto& first = bundle.add_worker({.name = "first"});
  runs_take(first, hours{1});
  bundle.submit(retried(0));
  bundle.run_for(seconds{2});
  ASSERT_EQ(first.busy(), 1);
  bundle.add_worker({.name = "second"});
  bundle.run_for(seconds{2});
  const SteadyTime died = bundle.clock.steady_now();
  first.die();
  bundle.run_for(seconds{10});
  const auto runs = bundle.runs();
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[1].worker, "second");
  EXPECT_EQ(runs[1].id.attempt, 2);
  EXPECT_LE(runs[1].started - died, seconds{5});
  EXPECT_THAT(states(bundle.log("a")), ElementsAre(LogState::kLost, LogState::kSucceeded));
  EXPECT_FALSE(bundle.log("a")[0].final);
  EXPECT_EQ(bundle.stat("workers_lost_total"), 1);
}

TEST(Attempts, LateReportOfAnOldAttemptOnlyGetsLogged) {
  TrackerBundle bundle;
  auto& slow = bundle.add_worker({.name = "slow"});
  slow.behaviour = [](const auto&, const auto&) {
    return FakeRun{.time = seconds{8}, .outcome = RunOutcome::kFailed};
  };
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{2});
  ASSERT_EQ(slow.busy(), 1);
  auto& other = bundle.add_worker({.name = "other"});
  runs_take(other, seconds{30});
  slow.cut_off(seconds{20});  // Dead for the tracker; its run goes on and ends.
  set_log_level(LogLevel::kInfo);
  ::testing::internal::CaptureStderr();
  bundle.run_for(seconds{25});
  const std::string said = ::testing::internal::GetCapturedStderr();
  set_log_level(LogLevel::kOff);
  EXPECT_THAT(said, HasSubstr("ignored a late report  job=" +
                              std::to_string(bundle.runs()[0].id.job_id.value) +
                              "  attempt=1  reported=failed  node=slow"));
  ASSERT_EQ(other.busy(), 1);
  EXPECT_THAT(slow.confirmed(), SizeIs(1)) << "it may forget its result";
  EXPECT_EQ(bundle.stat("late_reports_total"), 1);
  EXPECT_THAT(bundle.tables().executing, SizeIs(1));
  bundle.run_for(seconds{30});
  EXPECT_THAT(states(bundle.log("a")), ElementsAre(LogState::kLost, LogState::kSucceeded));
}

TEST(Attempts, ResultSurvivesADisconnectShorterThanTheLease) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  bundle.add_worker({.name = "idle"});
  runs_take(worker, seconds{1});
  bundle.run_for(seconds{1});
  for (int i = 0; i < 2; ++i) bundle.submit(job_now("a" + std::to_string(i)));
  worker.cut_off(seconds{2});
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs(), SizeIs(2)) << "no run was repeated";
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Attempts, ReturnedJobRunsOnAnotherWorkerAsANewAttempt) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.name = "busy"});
  runs_take(worker, minutes{1});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{2});
  ASSERT_THAT(worker.handed(), SizeIs(1));
  bundle.add_worker({.name = "free"});
  bundle.run_for(seconds{1});
  const wire::AttemptId id = worker.handed()[0];
  worker.leave();
  worker.give_back(id);
  bundle.run_for(seconds{2});
  ASSERT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_EQ(bundle.runs()[0].worker, "free");
  EXPECT_EQ(bundle.runs()[0].id.attempt, 2);
  EXPECT_THAT(states(bundle.log("a")), ElementsAre(LogState::kSucceeded));
}

TEST(Attempts, WorkerThatLeavesGetsNoMoreJobs) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  bundle.run_for(seconds{1});
  worker.leave();
  bundle.run_for(seconds{1});
  bundle.submit(job_now("a"));
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.runs(), IsEmpty());
  EXPECT_THAT(bundle.waiting("a"), SizeIs(1));
  const auto& nodes = bundle.tables().nodes;
  ASSERT_THAT(nodes, SizeIs(1));
  EXPECT_FALSE(nodes.begin()->second.alive);
}

TEST(Attempts, JobNotStartedBeforeItsStartDeadlineExpires) {
  TrackerBundle bundle;
  JobSpec job = job_now("a");
  job.start_deadline = minutes{1};
  bundle.submit(job);
  bundle.run_for(minutes{2});
  bundle.add_worker();
  bundle.run_for(seconds{5});
  EXPECT_THAT(bundle.runs(), IsEmpty());
  EXPECT_THAT(states(bundle.log("a")), ElementsAre(LogState::kExpired));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Attempts, UnstartedJobsThatAreRequeuedAreNotCountedAsEnded) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker({.threads = 4});
  bundle.run_for(std::chrono::seconds{1});
  // Claimed ahead for a worker that is gone before they are due.
  std::vector<JobSpec> jobs;
  for (const char* id : {"a", "b", "c"})
    jobs.push_back(carillon::testing::job_at(id, bundle.now() + std::chrono::seconds{2}));
  bundle.submit(jobs);
  bundle.run_for(std::chrono::milliseconds{1970});
  worker.die();
  bundle.run_for(std::chrono::seconds{10});
  EXPECT_TRUE(bundle.log().empty());
  EXPECT_EQ(bundle.stat("attempts_ended_total"), 0);
}

}  // namespace
}  // namespace carillon::jobtracker
