#include "jobtracker/intake/act.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// What people do to jobs, in each state that a job can be in.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_at;
using carillon::testing::job_cron;
using carillon::testing::job_every;
using carillon::testing::job_fixed_delay;
using carillon::testing::job_manual;
using carillon::testing::job_now;
using carillon::testing::states;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::Verb;

// "ok", or the error's message.
std::string said(const wire::Message& answer) {
  if (std::holds_alternative<wire::Acted>(answer)) return "ok";
  if (const auto* error = std::get_if<wire::ErrorReply>(&answer)) return error->error.message;
  return "no answer";
}

TEST(Act, CancelEndsAWaitingJobAndFreesItsTaskId) {
  TrackerBundle bundle;
  bundle.submit(job_now("a"));
  EXPECT_EQ(said(bundle.act(Verb::kCancel, "a")), "ok");
  EXPECT_TRUE(bundle.is_empty());
  EXPECT_THAT(states(bundle.log("a")), ElementsAre(LogState::kCancelled));
  bundle.add_worker();
  bundle.run_for(seconds{5});
  EXPECT_THAT(bundle.runs(), IsEmpty());
}

TEST(Act, RequestsBeyondTheLookUpLimitAreSlowedDown) {
  TrackerBundle bundle({.tracker = {.batcher = {.reads_max = 20}}});
  bundle.submit(job_now("a"));
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{3};
  for (int i = 0; i < 20; ++i) {
    bundle.client.act({.verb = Verb::kKill, .group = "default", .task_id = "a"});
  }
  bundle.run_for(milliseconds{500});
  EXPECT_GE(bundle.client.slowed_down(), 10U) << "a look-up counts, and the request that waits";
  EXPECT_TRUE(bundle.run_until([&] { return bundle.client.unanswered() == 0; }));
}

TEST(Act, CancelEndsADelayedJob) {
  TrackerBundle bundle;
  bundle.submit(job_at("a", bundle.now() + hours{2}));
  EXPECT_EQ(said(bundle.act(Verb::kCancel, "a")), "ok");
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Act, CancelStopsARunAndItsRetries) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, minutes{5});
  JobSpec job = job_now("a");
  job.retries = {.max = 5, .base = seconds{1}};
  bundle.submit(job);
  bundle.run_for(seconds{2});
  EXPECT_EQ(said(bundle.act(Verb::kCancel, "a")), "ok");
  bundle.run_for(seconds{10});
  ASSERT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_TRUE(bundle.runs()[0].was_killed);
  EXPECT_THAT(states(bundle.log("a")), ElementsAre(LogState::kKilled));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Act, CancelOfAJobClaimedAheadPreventsItsStart) {
  TrackerBundle bundle({.tracker = {.dispatcher = {.claim_ahead = seconds{5}}}});
  bundle.add_worker();
  const WallTime at = bundle.now() + seconds{20};
  bundle.submit(job_at("a", at));
  bundle.run_to(at - seconds{2});
  ASSERT_THAT(bundle.tables().executing, SizeIs(1)) << "claimed, and held until its time";
  EXPECT_EQ(said(bundle.act(Verb::kCancel, "a")), "ok");
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs(), IsEmpty());
  ASSERT_THAT(states(bundle.log("a")), ElementsAre(LogState::kCancelled));
  const LogEntry entry = bundle.log("a")[0];
  EXPECT_EQ(entry.attempt, 0) << "no attempt was made";
  EXPECT_EQ(entry.started_at, WallTime{});
  EXPECT_EQ(entry.node, "");
  EXPECT_TRUE(bundle.is_empty());
  EXPECT_EQ(bundle.workers()[0]->busy(), 0);
}

TEST(Act, SuspendOfARunClaimedAheadEndsItUnattempted) {
  TrackerBundle bundle({.tracker = {.dispatcher = {.claim_ahead = seconds{5}}}});
  bundle.add_worker();
  bundle.submit(job_cron("a", "0 * * * * ?"));
  bundle.run_to(std::chrono::ceil<minutes>(bundle.now()) - seconds{2});
  ASSERT_THAT(bundle.tables().executing, SizeIs(1));
  const JobId id = bundle.tables().executing.begin()->first;
  EXPECT_EQ(said(bundle.act(Verb::kSuspend, "a")), "ok");
  bundle.run_for(seconds{5});
  ASSERT_THAT(bundle.log("a"), SizeIs(1));
  EXPECT_EQ(bundle.log("a")[0].state, LogState::kCancelled);
  EXPECT_EQ(bundle.log("a")[0].attempt, 0);
  EXPECT_EQ(bundle.log("a")[0].job_id, id);
}

TEST(Act, CancelEndsAJobThatWaitsForItsRetry) {
  TrackerBundle bundle;
  bundle.add_worker().behaviour = [](const auto&, const auto&) {
    return FakeRun{.outcome = wire::RunOutcome::kException};
  };
  JobSpec job = job_now("a");
  job.retries = {.max = 3, .base = minutes{1}};
  bundle.submit(job);
  bundle.run_for(seconds{5});
  ASSERT_THAT(bundle.waiting("a"), SizeIs(1));
  EXPECT_EQ(said(bundle.act(Verb::kCancel, "a")), "ok");
  bundle.run_for(minutes{5});
  EXPECT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Act, CancelOfADefinitionRemovesFiresAndStopsRuns) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, minutes{5});
  JobSpec job = job_every("a", seconds{10});
  job.overlap = Overlap::kParallel;
  bundle.submit(job);
  bundle.run_for(seconds{15});
  ASSERT_EQ(worker.busy(), 2);
  EXPECT_EQ(said(bundle.act(Verb::kCancel, "a")), "ok");
  bundle.run_for(minutes{1});
  EXPECT_EQ(worker.busy(), 0);
  EXPECT_THAT(bundle.runs(), SizeIs(2));
  EXPECT_TRUE(bundle.is_empty());
  EXPECT_EQ(bundle.submit(job).status, wire::SubmitStatus::kAccepted);
}

TEST(Act, CancelOfADefinitionRecordsTheNextFireAsCancelled) {
  TrackerBundle bundle;
  JobSpec ahead = job_cron("ahead", "0 * * * * ?");  // Ten minutes of it are generated.
  ahead.overlap = Overlap::kParallel;
  bundle.submit(ahead);
  bundle.submit(job_cron("single", "0 * * * * ?"));
  bundle.run_for(seconds{1});
  const WallTime coming = std::chrono::ceil<minutes>(bundle.now());
  for (const char* task : {"ahead", "single"}) {
    SCOPED_TRACE(task);
    EXPECT_EQ(said(bundle.act(Verb::kCancel, task)), "ok");
    ASSERT_THAT(states(bundle.log(task)), ElementsAre(LogState::kCancelled));
    EXPECT_EQ(bundle.log(task)[0].trigger_time, coming);
  }
}

TEST(Act, CancelledRunThatIsLostIsNotRequeued) {
  for (const bool is_defined : {false, true}) {
    SCOPED_TRACE(is_defined);
    TrackerBundle bundle;
    auto& worker = bundle.add_worker();
    runs_take(worker, minutes{5});
    JobSpec job = is_defined ? job_every("a", hours{1}) : job_now("a");
    job.retries = {.max = 5, .base = seconds{1}};
    bundle.submit(job);
    bundle.run_for(seconds{2});
    worker.lose_frames(true);  // It does not hear that it is to stop.
    EXPECT_EQ(said(bundle.act(Verb::kCancel, "a")), "ok");
    worker.die();
    bundle.add_worker();
    bundle.run_for(minutes{1});
    EXPECT_THAT(bundle.runs(), SizeIs(1));
    ASSERT_FALSE(bundle.log("a").empty());
    EXPECT_EQ(bundle.log("a").back().state, LogState::kLost);
    EXPECT_TRUE(bundle.log("a").back().final);
    EXPECT_TRUE(bundle.is_empty());
  }
}

TEST(Act, CancelledRunThatFailsIsNotRetried) {
  for (const bool is_defined : {false, true}) {
    SCOPED_TRACE(is_defined);
    TrackerBundle bundle;
    auto& worker = bundle.add_worker();
    worker.behaviour = [](const auto&, const auto&) {
      return FakeRun{.time = seconds{5}, .outcome = wire::RunOutcome::kException};
    };
    JobSpec job = is_defined ? job_every("a", hours{1}) : job_now("a");
    job.retries = {.max = 5, .base = seconds{1}};
    bundle.submit(job);
    bundle.run_for(seconds{2});
    worker.lose_frames(true);  // It does not hear that it is to stop.
    EXPECT_EQ(said(bundle.act(Verb::kCancel, "a")), "ok");
    worker.lose_frames(false);
    bundle.run_for(minutes{1});
    EXPECT_THAT(bundle.runs(), SizeIs(1));
    EXPECT_FALSE(bundle.runs()[0].was_killed);
    ASSERT_FALSE(bundle.log("a").empty());
    EXPECT_EQ(bundle.log("a").back().state, LogState::kFailed);
    EXPECT_TRUE(bundle.log("a").back().final);
    EXPECT_TRUE(bundle.is_empty());
  }
}

TEST(Act, CancelThatAWorkerMissedIsResentWhenItRegisters) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, minutes{5});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{2});
  worker.lose_frames(true);
  EXPECT_EQ(said(bundle.act(Verb::kCancel, "a")), "ok");
  bundle.run_for(milliseconds{100});
  worker.cut_off(milliseconds{500});
  bundle.run_for(seconds{3});
  EXPECT_EQ(worker.busy(), 0);
  EXPECT_TRUE(bundle.is_empty());
}

// Cut off for longer than its lease: its job was taken from it, and is nobody's by then.
TEST(Act, CancelReachesARunThatLostItsLease) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, minutes{5});
  bundle.submit({job_now("a"), job_every("b", hours{1})});
  bundle.run_for(seconds{2});
  ASSERT_EQ(worker.busy(), 2);
  worker.cut_off(seconds{6});
  bundle.run_for(seconds{1});
  EXPECT_EQ(said(bundle.act(Verb::kCancel, "a")), "ok");
  EXPECT_EQ(said(bundle.act(Verb::kCancel, "b")), "ok");
  bundle.run_for(seconds{4});
  EXPECT_TRUE(bundle.is_empty());
  bundle.begin_next_session();
  bundle.run_for(seconds{4});
  EXPECT_EQ(worker.busy(), 0);
}

TEST(Act, CancelReachesALostRunThatWaitsForAnotherAttempt) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 3});
  runs_take(worker, minutes{5});
  bundle.submit({job_now("a"), job_every("b", hours{1}), job_manual("c")});
  EXPECT_EQ(said(bundle.act(Verb::kTrigger, "c")), "ok");
  bundle.run_for(seconds{2});
  ASSERT_EQ(worker.busy(), 3);
  worker.cut_off(seconds{8});
  bundle.run_for(seconds{5});
  for (const char* task : {"a", "b", "c"}) {
    ASSERT_EQ(bundle.log(task).back().state, LogState::kLost);
    EXPECT_EQ(said(bundle.act(Verb::kCancel, task)), "ok");
  }
  bundle.run_for(seconds{8});
  EXPECT_EQ(worker.busy(), 0);
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Act, NextFireStopsAPreviousRunThatLostItsLease) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, minutes{5});
  JobSpec spec = job_every("a", seconds{10});
  spec.overlap = Overlap::kCancelRunning;
  bundle.submit(spec);
  bundle.run_for(seconds{5});
  ASSERT_EQ(worker.busy(), 1);
  worker.cut_off(seconds{12});
  bundle.run_for(seconds{14});
  EXPECT_EQ(worker.busy(), 1) << "the run before, or one beside it";
}

TEST(Act, CancelStopsAnEarlierAttemptThatStillRuns) {
  TrackerBundle bundle;
  auto& first = bundle.add_worker({.name = "first"});
  runs_take(first, minutes{5});
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{2});
  first.cut_off(seconds{5});
  auto& second = bundle.add_worker({.name = "second"});
  runs_take(second, minutes{5});
  bundle.run_for(seconds{10});
  ASSERT_EQ(first.busy() + second.busy(), 2);
  EXPECT_EQ(said(bundle.act(Verb::kCancel, "a")), "ok");
  bundle.run_for(seconds{2});
  EXPECT_EQ(second.busy(), 0);
  EXPECT_EQ(first.busy(), 0);
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Act, SuspendedJobDoesNotFireUntilItIsResumed) {
  TrackerBundle bundle;
  bundle.add_worker();
  const WallTime at = bundle.now() + minutes{2};
  bundle.submit(job_at("a", at));
  EXPECT_EQ(said(bundle.act(Verb::kSuspend, "a")), "ok");
  EXPECT_THAT(said(bundle.act(Verb::kSuspend, "a")), HasSubstr("is already suspended"));
  bundle.run_for(minutes{30});
  EXPECT_THAT(bundle.runs(), IsEmpty());
  EXPECT_EQ(said(bundle.act(Verb::kResume, "a")), "ok");

  bundle.run_for(seconds{5});
  EXPECT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Act, SuspendWinsOverAConcurrentPromotion) {
  TrackerBundle bundle(
      {.tracker = {.recurrence = {.horizon = seconds{20}, .period = seconds{10}}}});
  bundle.add_worker();
  std::vector<std::string> unsuspended;
  for (int i = 0; i < 60; ++i) {
    const std::string name = "a" + std::to_string(i);
    bundle.submit(job_at(name, bundle.now() + seconds{40}));
  }
  // The store is slow, so that reads, suspensions and moves pass each other in every way.
  bundle.connection().work_time = [&] { return milliseconds{20 + bundle.random.next() % 100}; };
  for (int i = 0; i < 60; ++i) {
    bundle.client.act(
        {.verb = Verb::kSuspend, .group = "default", .task_id = "a" + std::to_string(i)});
    bundle.run_for(milliseconds{700});
  }
  bundle.run_for(minutes{2});
  for (const auto& run : bundle.runs()) {
    for (const WaitingJob& job : bundle.delayed()) {
      if (job.task_id == run.task_id) unsuspended.push_back(run.task_id);
    }
  }
  EXPECT_THAT(unsuspended, IsEmpty());
  EXPECT_EQ(bundle.runs().size() + bundle.delayed().size(), 60U);
  EXPECT_THAT(bundle.waiting(), IsEmpty());
}

TEST(Act, SuspendRemovesGeneratedFiresAndResumeGeneratesThemAgain) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle bundle;
    bundle.add_worker();
    JobSpec job = job_cron("a", "0 */2 * * * ?");
    job.overlap = overlap;
    bundle.submit(job);
    bundle.run_for(seconds{10});
    EXPECT_EQ(said(bundle.act(Verb::kSuspend, "a")), "ok");
    EXPECT_THAT(bundle.waiting(), IsEmpty());
    bundle.run_for(seconds{30});
    EXPECT_EQ(said(bundle.act(Verb::kResume, "a")), "ok");
    bundle.run_to(std::chrono::floor<hours>(bundle.now()) + minutes{20} + seconds{30});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(10));
  }
}

// Every fire ends in one recorded outcome: also those that wait when their job is called off.
TEST(Act, SuspendOrCancelRecordsWaitingFiresAsOneRow) {
  for (const Verb verb : {Verb::kSuspend, Verb::kCancel}) {
    for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(verb) << static_cast<int>(overlap));
      TrackerBundle bundle;
      runs_take(bundle.add_worker({.threads = 1}), hours{1});
      bundle.run_for(seconds{1});
      // Either the run before keeps them waiting, or no thread is free.
      if (overlap != Overlap::kQueue) bundle.submit(job_now("other"));
      bundle.run_for(seconds{1});
      const WallTime first = bundle.now() + seconds{10};
      JobSpec job = job_every("a", seconds{10});
      job.overlap = overlap;
      job.schedule.first = first;
      bundle.submit(job);
      bundle.run_for(seconds{65});
      EXPECT_EQ(said(bundle.act(verb, "a")), "ok");
      EXPECT_THAT(bundle.waiting("a"), IsEmpty());
      std::vector<LogEntry> cancelled = bundle.log("a");
      std::erase_if(cancelled, [](const LogEntry& entry) { return entry.job_id.value != 0; });
      if (overlap == Overlap::kSkip) {  // The first one waits, and the others are skipped for it.
        ASSERT_THAT(states(cancelled), ElementsAre(LogState::kSkipped, LogState::kCancelled));
        EXPECT_EQ(cancelled[0].count, 5);
        cancelled.erase(cancelled.begin());
      }
      ASSERT_THAT(cancelled, SizeIs(1));
      EXPECT_EQ(cancelled[0].state, LogState::kCancelled);
      EXPECT_EQ(cancelled[0].attempt, 0);
      const bool first_runs = overlap == Overlap::kQueue;
      EXPECT_EQ(cancelled[0].count, overlap == Overlap::kSkip ? 1 : first_runs ? 5 : 6);
      EXPECT_EQ(cancelled[0].trigger_time, first + seconds{first_runs ? 10 : 0});
    }
  }
}

TEST(Act, SuspendOrCancelRecordsARunWaitingForRetry) {
  for (const Verb verb : {Verb::kSuspend, Verb::kCancel}) {
    TrackerBundle bundle;
    bundle.add_worker().behaviour = [](const auto&, const auto&) {
      return FakeRun{.outcome = wire::RunOutcome::kException};
    };
    JobSpec job = job_every("a", hours{1});
    job.retries = {.max = 3, .base = minutes{10}};
    bundle.submit(job);
    bundle.run_for(seconds{10});
    ASSERT_THAT(bundle.waiting("a"), SizeIs(1));
    const JobId id = bundle.waiting("a")[0].id;
    EXPECT_EQ(said(bundle.act(verb, "a")), "ok");
    auto log = bundle.log("a");
    std::erase_if(log, [&](const LogEntry& entry) { return entry.job_id != id; });
    EXPECT_THAT(states(log), ElementsAre(LogState::kFailed, LogState::kCancelled));
    EXPECT_EQ(log[1].attempt, 0);
    EXPECT_TRUE(log[1].final);
  }
}

// The end of an attempt, with the retry that it makes, and the act pass each other in every order.
TEST(Act, RunThatFailsDuringSuspendOrCancelEndsOnce) {
  for (const Verb verb : {Verb::kSuspend, Verb::kCancel}) {
    for (int moment = 0; moment < 120; moment += 2) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(verb) << ' ' << moment);
      TrackerBundle bundle;
      bundle.add_worker().behaviour = [](const auto&, const auto&) {
        return FakeRun{.outcome = wire::RunOutcome::kException};
      };
      JobSpec job = job_every("a", hours{1});
      job.retries = {.max = 3, .base = minutes{10}};
      job.schedule.first = bundle.now() + seconds{10};
      bundle.submit(job);
      bundle.connection().work_time = [] { return milliseconds{20}; };
      bundle.run_to(*job.schedule.first + milliseconds{moment});
      EXPECT_EQ(said(bundle.act(verb, "a")), "ok");
      for (FakeWorker* worker : bundle.workers()) worker->die();
      bundle.run_for(seconds{10});
      EXPECT_THAT(bundle.waiting(), IsEmpty());
      EXPECT_THAT(bundle.tables().executing, IsEmpty());
      std::map<JobId, int> ends;
      for (const auto& run : bundle.runs()) ends[run.id.job_id] = 0;
      for (const LogEntry& entry : bundle.log("a")) {
        if (entry.job_id && entry.final) ++ends[entry.job_id];
      }
      for (const auto& [id, count] : ends) EXPECT_EQ(count, 1) << bundle.story("a");
    }
  }
}

TEST(Act, CancelAcknowledgedWhileTheRunFailsLeavesNoRetry) {
  int cancelled = 0;
  for (int moment = 0; moment < 120; moment += 2) {
    SCOPED_TRACE(moment);
    TrackerBundle bundle;
    bundle.add_worker().behaviour = [](const auto&, const auto&) {
      return FakeRun{.time = milliseconds{50}, .outcome = wire::RunOutcome::kException};
    };
    JobSpec job = job_at("a", bundle.now() + seconds{10});
    job.retries = {.max = 3, .base = seconds{1}};
    bundle.submit(job);
    bundle.connection().work_time = [] { return milliseconds{20}; };
    bundle.run_to(job.schedule.at + milliseconds{moment});
    const bool is_done = said(bundle.act(Verb::kCancel, "a")) == "ok";
    cancelled += is_done ? 1 : 0;
    bundle.run_for(minutes{1});
    EXPECT_THAT(bundle.runs(), SizeIs(is_done ? 1 : 4));
    int ends = 0;
    for (const LogEntry& entry : bundle.log("a")) ends += entry.final ? 1 : 0;
    EXPECT_EQ(ends, 1) << bundle.story("a");
    EXPECT_TRUE(bundle.is_empty());
  }
  EXPECT_GT(cancelled, 30);
}

TEST(Act, SuspendWithNothingDueAddsNoHistoryRow) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(job_cron("a", "0 0 * * * ?"));
  EXPECT_EQ(said(bundle.act(Verb::kSuspend, "a")), "ok");
  EXPECT_THAT(bundle.log("a"), IsEmpty());
  EXPECT_EQ(said(bundle.act(Verb::kCancel, "a")), "ok");
  EXPECT_THAT(bundle.log("a"), SizeIs(1));
}

TEST(Act, SuspendedDefinitionDoesNotFireAndResumesOnItsGrid) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(job_every("a", minutes{1}));
  bundle.run_for(seconds{90});
  ASSERT_THAT(bundle.runs(), SizeIs(2));
  const WallTime second = bundle.runs()[1].trigger_time;
  EXPECT_EQ(said(bundle.act(Verb::kSuspend, "a")), "ok");
  bundle.run_for(minutes{20});
  EXPECT_THAT(bundle.runs(), SizeIs(2));
  EXPECT_EQ(said(bundle.act(Verb::kResume, "a")), "ok");
  bundle.run_for(minutes{1});
  ASSERT_THAT(bundle.runs(), SizeIs(3));
  EXPECT_EQ((bundle.runs()[2].trigger_time - second) % minutes{1}, Duration{});
}

TEST(Act, SuspendPreventsTheStartOfAFireClaimedAhead) {
  TrackerBundle bundle({.tracker = {.dispatcher = {.claim_ahead = seconds{5}}}});
  bundle.add_worker();
  bundle.submit(job_cron("a", "0 * * * * ?"));
  bundle.run_to(std::chrono::floor<minutes>(bundle.now()) + seconds{57});
  ASSERT_THAT(bundle.tables().executing, SizeIs(1));
  EXPECT_EQ(said(bundle.act(Verb::kSuspend, "a")), "ok");
  bundle.run_for(minutes{5});
  EXPECT_THAT(bundle.runs(), IsEmpty());
  EXPECT_EQ(said(bundle.act(Verb::kResume, "a")), "ok");
  bundle.run_for(minutes{2});
  EXPECT_THAT(bundle.runs(), SizeIs(2));
}

TEST(Act, SuspendPreventsAOneShotJobClaimedAheadFromStarting) {
  TrackerBundle bundle({.tracker = {.dispatcher = {.claim_ahead = seconds{5}}}});
  bundle.add_worker({.threads = 2});
  const WallTime at = bundle.now() + seconds{20};
  bundle.submit(job_at("a", at));
  bundle.run_to(at - seconds{2});
  ASSERT_THAT(bundle.tables().executing, SizeIs(1)) << "claimed, and held until its time";
  EXPECT_EQ(said(bundle.act(Verb::kSuspend, "a")), "ok");
  EXPECT_THAT(bundle.delayed(), SizeIs(1));
  bundle.run_for(minutes{2});
  EXPECT_THAT(bundle.runs(), IsEmpty());
  const wire::SubmitAnswer taken = bundle.submit(job_now("a"));
  EXPECT_EQ(taken.status, wire::SubmitStatus::kDuplicate);
  EXPECT_EQ(
      taken.reason,
      "task id 'a' is taken in group 'default' until that job has ended (cancel it, or submit "
      "with --replace-on-exist, in JSON replace_on_exist)");
  bundle.submit({job_now("b"), job_now("c")});
  bundle.run_for(seconds{1});
  EXPECT_THAT(bundle.runs(), SizeIs(2)) << "the thread that was kept for it is free";
  EXPECT_EQ(said(bundle.act(Verb::kResume, "a")), "ok");
  bundle.run_for(seconds{5});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(1));
  EXPECT_TRUE(bundle.is_empty());
}

// Whether it is just being claimed, held or sent.
TEST(Act, OneShotJobRunsOnlyIfItsSuspendIsRefused) {
  int suspended = 0;
  for (int moment = -120; moment < 60; moment += 3) {
    SCOPED_TRACE(moment);
    TrackerBundle bundle;
    bundle.add_worker().behaviour = [](const auto&, const auto&) {
      return FakeRun{.time = seconds{1}};
    };
    bundle.connection().work_time = [] { return milliseconds{10}; };
    const WallTime at = bundle.now() + seconds{10};
    bundle.submit(job_at("a", at));
    bundle.run_to(at + milliseconds{moment});
    const std::string answer = said(bundle.act(Verb::kSuspend, "a"));
    const bool is_done = answer == "ok";
    EXPECT_THAT(answer, AnyOf("ok", HasSubstr("is executing")));
    suspended += is_done ? 1 : 0;
    bundle.run_for(minutes{1});
    EXPECT_THAT(bundle.runs(), SizeIs(is_done ? 0 : 1));
    EXPECT_THAT(bundle.delayed(), SizeIs(is_done ? 1 : 0));
  }
  EXPECT_GT(suspended, 20);
}

TEST(Act, ResentSuspendDoesNotHoldAResumedJob) {
  TrackerBundle bundle({.tracker = {.dispatcher = {.claim_ahead = seconds{5}}}});
  bundle.add_worker();
  const WallTime at = bundle.now() + seconds{20};
  bundle.submit(job_at("a", at));
  bundle.run_to(at - seconds{3});
  const auto sequence =
      bundle.client.act({.verb = Verb::kSuspend, .group = "default", .task_id = "a"});
  bundle.run_until([&] { return bundle.client.answer_to(sequence) != nullptr; });
  EXPECT_EQ(said(bundle.act(Verb::kResume, "a")), "ok");
  bundle.run_to(at - seconds{1});
  ASSERT_THAT(bundle.tables().executing, SizeIs(1));
  bundle.client.send_again(sequence);  // Answered as the first time, and nothing changes.
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Act, DefinitionSuspendedDuringAPendingRetryFiresAfterResume) {
  TrackerBundle bundle;
  bool fails = true;
  bundle.add_worker().behaviour = [&](const auto&, const auto&) {
    return FakeRun{.outcome = fails ? wire::RunOutcome::kException : wire::RunOutcome::kSucceeded};
  };
  JobSpec job = job_every("a", minutes{1});
  job.retries = {.max = 3, .base = seconds{40}};
  bundle.submit(job);
  bundle.run_for(seconds{10});
  ASSERT_THAT(bundle.waiting(), SizeIs(1));
  fails = false;
  EXPECT_EQ(said(bundle.act(Verb::kSuspend, "a")), "ok");
  EXPECT_THAT(bundle.waiting(), IsEmpty());
  EXPECT_EQ(said(bundle.act(Verb::kResume, "a")), "ok");
  bundle.run_for(minutes{5});
  EXPECT_THAT(bundle.runs(), SizeIs(6));
}

TEST(Act, DefinitionResumedDuringATriggeredRunKeepsItsGrid) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker(), seconds{30});
  bundle.submit(job_cron("a", "0 */5 * * * ?"));
  bundle.run_for(seconds{5});
  EXPECT_EQ(said(bundle.act(Verb::kTrigger, "a")), "ok");
  bundle.run_for(seconds{5});
  EXPECT_EQ(said(bundle.act(Verb::kSuspend, "a")), "ok");
  EXPECT_EQ(said(bundle.act(Verb::kResume, "a")), "ok");
  bundle.run_for(minutes{11});
  EXPECT_THAT(bundle.runs(), SizeIs(3));
}

TEST(Act, RunTriggeredDuringASuspensionStillRetriesAfterResume) {
  TrackerBundle bundle;
  bundle.add_worker().behaviour = [](const wire::HandedJob& job, const JobSpec&) {
    return FakeRun{.outcome = job.id.attempt == 1 ? wire::RunOutcome::kException
                                                  : wire::RunOutcome::kSucceeded};
  };
  JobSpec job = job_cron("a", "0 0 * * * ?");
  job.retries = {.max = 1, .base = seconds{20}};
  bundle.submit(job);
  EXPECT_EQ(said(bundle.act(Verb::kSuspend, "a")), "ok");
  EXPECT_EQ(said(bundle.act(Verb::kTrigger, "a")), "ok");
  bundle.run_for(seconds{5});  // It waits for its second try.
  EXPECT_EQ(said(bundle.act(Verb::kResume, "a")), "ok");
  bundle.run_for(seconds{30});
  EXPECT_THAT(states(bundle.log("a")), ElementsAre(LogState::kFailed, LogState::kSucceeded));
}

TEST(Act, RunTriggeredWhileItsJobIsRemovedLeavesNoRow) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(job_cron("a", "0 0 * * * ?"));
  // While this one is on its way to the store, the two that follow gather for one batch.
  bundle.client.submit({job_now("b")});
  bundle.client.act({.verb = Verb::kTrigger, .group = "default", .task_id = "a"});
  bundle.client.act({.verb = Verb::kCancel, .group = "default", .task_id = "a"});
  bundle.run_for(seconds{10});
  EXPECT_TRUE(bundle.is_empty()) << bundle.story("a");
}

TEST(Act, TriggerRunsBeforeAllJobsAndKeepsTheNextFire) {
  TrackerBundle bundle;
  const WallTime next = std::chrono::floor<hours>(bundle.now()) + hours{1};
  bundle.submit(job_cron("a", "0 0 * * * ?"));
  JobSpec urgent = job_now("urgent");
  urgent.priority = 0;
  bundle.submit(urgent);
  EXPECT_EQ(said(bundle.act(Verb::kTrigger, "a")), "ok");
  auto& worker = bundle.add_worker({.threads = 1});
  runs_take(worker, seconds{1});
  bundle.run_for(seconds{10});
  ASSERT_THAT(bundle.runs(), SizeIs(2));
  EXPECT_EQ(bundle.runs()[0].task_id, "a");
  EXPECT_EQ(bundle.definition("a")->next_fire, next);
  bundle.run_to(next + seconds{1});
  EXPECT_EQ(bundle.runs_of("a").back().trigger_time, next);
}

TEST(Act, TriggeredRetryKeepsItsTriggerTime) {
  TrackerBundle bundle;
  bundle.add_worker().behaviour = [](const wire::HandedJob& job, const JobSpec&) {
    return FakeRun{.outcome = job.id.attempt == 1 ? wire::RunOutcome::kException
                                                  : wire::RunOutcome::kSucceeded};
  };
  JobSpec job = job_now("a");
  job.retries = {.max = 1, .base = hours{1}};
  bundle.submit(job);
  bundle.run_for(seconds{5});
  EXPECT_EQ(said(bundle.act(Verb::kTrigger, "a")), "ok");
  bundle.run_for(seconds{1});
  ASSERT_THAT(bundle.runs(), SizeIs(2));
  EXPECT_EQ(bundle.runs()[1].trigger_time, bundle.runs()[0].trigger_time);
}

TEST(Act, TriggerObeysOverlapUnlessForced) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 4});
  runs_take(worker, minutes{2});
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
    JobSpec job = job_manual("a" + std::to_string(static_cast<int>(overlap)));
    job.overlap = overlap;
    bundle.submit(job);
    EXPECT_EQ(said(bundle.act(Verb::kTrigger, job.task_id)), "ok");
  }
  bundle.run_for(seconds{2});
  EXPECT_THAT(said(bundle.act(Verb::kTrigger, "a0")), HasSubstr("overlap rule is skip"));
  EXPECT_EQ(said(bundle.act(Verb::kTrigger, "a1")), "ok");
  EXPECT_EQ(said(bundle.act(Verb::kTrigger, "a4")), "ok");
  bundle.run_for(seconds{2});
  EXPECT_THAT(bundle.runs_of("a0"), SizeIs(1));
  EXPECT_THAT(bundle.runs_of("a1"), SizeIs(1)) << "it waits for the first to end";
  EXPECT_THAT(bundle.runs_of("a4"), SizeIs(2));
  runs_take(worker, seconds{1});
  bundle.run_for(minutes{3});
  EXPECT_THAT(bundle.runs_of("a1"), SizeIs(2));
  wire::Act forced{.verb = Verb::kTrigger, .group = "default", .task_id = "a0", .force = true};
  runs_take(worker, minutes{2});
  bundle.act(forced);
  bundle.act(forced);
  bundle.run_for(seconds{2});
  EXPECT_EQ(worker.busy(), 2);
}

TEST(Act, TriggeredRunOutlivesTheLastFireOfItsSchedule) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 1});
  runs_take(worker, seconds{20});
  JobSpec job = job_every("a", minutes{1});
  job.schedule.count = 1;
  bundle.submit(job);
  bundle.run_for(seconds{5});
  ASSERT_EQ(worker.busy(), 1);
  wire::Act forced{.verb = Verb::kTrigger, .group = "default", .task_id = "a", .force = true};
  EXPECT_EQ(said(bundle.act(forced)), "ok");
  bundle.run_for(minutes{2});
  EXPECT_THAT(bundle.runs(), SizeIs(2)) << "what was accepted runs";
  EXPECT_TRUE(bundle.is_empty());
}

JobSpec job_spec_with_id(const std::string& task_id) {
  JobSpec job;
  job.task_id = task_id;
  job.run.handler = "noop";
  return job;
}

TEST(Act, TriggerRunsOneShotJobsAtOnceWithOptionalPayload) {
  TrackerBundle bundle;
  std::vector<std::string> payloads;
  bundle.add_worker().behaviour = [&](const auto&, const JobSpec& spec) {
    payloads.push_back(spec.payload);
    return FakeRun{};
  };
  JobSpec job = job_at("a", bundle.now() + hours{3});
  job.payload = "own";
  bundle.submit(job);
  EXPECT_EQ(said(bundle.act(Verb::kTrigger, "a")), "ok");
  bundle.run_for(seconds{2});
  bundle.submit(job);
  EXPECT_EQ(said(bundle.act(
                {.verb = Verb::kTrigger, .group = "default", .task_id = "a", .payload = "other"})),
            "ok");
  bundle.run_for(seconds{2});
  EXPECT_THAT(payloads, ElementsAre("own", "other"));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Act, TriggerAcceptsAPayloadDespiteAGeneratedTaskId) {
  for (const ScheduleKind kind : {ScheduleKind::kManual, ScheduleKind::kAt}) {
    SCOPED_TRACE(static_cast<int>(kind));
    TrackerBundle bundle;
    JobSpec job = job_at("", bundle.now() + hours{3});
    if (kind == ScheduleKind::kManual) job.schedule = {.kind = kind};
    const std::string made = bundle.submit(job).task_id;
    ASSERT_FALSE(job_spec_with_id(made).validate().ok()) << "it is one that nobody may choose";
    EXPECT_EQ(
        said(bundle.act(
            {.verb = Verb::kTrigger, .group = "default", .task_id = made, .payload = "other"})),
        "ok");
  }
}

TEST(Act, TriggerRefusesAPayloadThatTheJobCannotUse) {
  for (const ScheduleKind kind : {ScheduleKind::kManual, ScheduleKind::kAt}) {
    SCOPED_TRACE(static_cast<int>(kind));
    TrackerBundle bundle;
    JobSpec job = job_at("a", bundle.now() + hours{3});
    if (kind == ScheduleKind::kManual) job.schedule = {.kind = kind};
    job.run = {.kind = RunKind::kHttp, .http = {.url = "http://h/"}};
    bundle.submit(job);
    const auto refused = bundle.act(
        {.verb = Verb::kTrigger, .group = "default", .task_id = "a", .payload = "other"});
    EXPECT_THAT(said(refused), HasSubstr("payload cannot be combined with http GET"));
    EXPECT_EQ(said(bundle.act(Verb::kTrigger, "a")), "ok");
  }
}

// Its row is read, claimed and changed in every order.
TEST(Act, TriggerDuringAClaimIsRefusedOrUsesItsPayload) {
  int triggered = 0;
  for (int moment = 0; moment < 120; moment += 3) {
    SCOPED_TRACE(moment);
    TrackerBundle bundle;
    bundle.connection().work_time = [] { return milliseconds{20}; };
    JobSpec job = job_now("a");
    job.payload = "own";
    bundle.submit(job);
    const auto sequence = bundle.client.act(
        {.verb = Verb::kTrigger, .group = "default", .task_id = "a", .payload = "other"});
    bundle.run_for(milliseconds{moment});
    std::vector<std::string> payloads;
    bundle.add_worker({.threads = 4}).behaviour = [&](const auto&, const JobSpec& spec) {
      payloads.push_back(spec.payload);
      return FakeRun{.time = seconds{1}};
    };
    bundle.run_for(seconds{5});
    const wire::Message* answer = bundle.client.answer_to(sequence);
    ASSERT_NE(answer, nullptr);
    const bool is_done = said(*answer) == "ok";
    triggered += is_done ? 1 : 0;
    EXPECT_THAT(payloads, ElementsAre(is_done ? "other" : "own"));
    EXPECT_TRUE(bundle.is_empty());
  }
  EXPECT_GT(triggered, 10);
}

TEST(Act, ImpossibleRequestsAreRefusedWithTheReason) {
  TrackerBundle bundle;
  EXPECT_THAT(said(bundle.act(Verb::kCancel, "x")), HasSubstr("no group 'default'"));
  runs_take(bundle.add_worker(), minutes{10});
  bundle.submit(job_manual("idle"));
  EXPECT_THAT(said(bundle.act(Verb::kCancel, "x")), HasSubstr("task 'x' is not waiting"));
  EXPECT_THAT(said(bundle.act(Verb::kKill, "idle")), HasSubstr("'idle' is not executing"));
  EXPECT_THAT(said(bundle.act(Verb::kResume, "idle")), HasSubstr("is not suspended"));
  bundle.submit(job_now("busy"));
  bundle.run_for(seconds{2});
  EXPECT_THAT(said(bundle.act(Verb::kSuspend, "busy")), HasSubstr("can only be cancelled"));
  EXPECT_THAT(said(bundle.act(wire::Act{.verb = Verb::kCancel})),
              HasSubstr("a task id or a job id is required"));
  bundle.submit(job_at("later", bundle.now() + minutes{1}));
  EXPECT_THAT(said(bundle.act(Verb::kKill, "later")), HasSubstr("cancel it instead"));
  bundle.submit(job_cron("grid", "0 */5 * * * ?"));
  const auto rows = bundle.waiting("grid");
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(said(bundle.act({.verb = Verb::kCancel, .job_id = rows[0].id})),
              HasSubstr("a run of task 'grid'"));
}

TEST(Act, ConcurrentActsOnOneDefinitionAreAllAnswered) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(job_fixed_delay("a", seconds{1}));
  bundle.connection().work_time = [] { return milliseconds{50}; };
  for (int i = 0; i < 5; ++i) {
    for (const Verb verb : {Verb::kSuspend, Verb::kResume, Verb::kTrigger}) {
      bundle.client.act({.verb = verb, .group = "default", .task_id = "a"});
    }
  }
  bundle.client.act({.verb = Verb::kCancel, .group = "default", .task_id = "a"});
  bundle.client.act({.verb = Verb::kSuspend, .group = "default", .task_id = "a"});
  bundle.run_for(milliseconds{900});
  EXPECT_EQ(bundle.client.unanswered(), 0U) << "none waits for a resend";
  bundle.run_for(seconds{10});
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Act, RequestsBeyondTheGroupLookUpLimitAreSlowedDown) {
  Partitions wanted = all_partitions();
  wanted.reset(0);
  TrackerBundle bundle({.tracker = {.batcher = {.reads_max = 20}}, .wanted = wanted});
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{20};
  for (int i = 0; i < 400; ++i) {
    wire::Act act{
        .verb = wire::Verb::kTrigger, .group = "nope" + std::to_string(i), .task_id = "a"};
    act.payload = std::string(1024 * 1024, 'x');
    bundle.client.act(std::move(act));
  }
  bundle.run_for(milliseconds{500});
  std::size_t asked = 0;
  std::size_t pending = 0;
  for (const auto& [name, size] : bundle.tracker().sizes()) {
    if (name == "batcher.asked") asked = size;
    if (name == "batcher.pending_bytes") pending = size;
  }
  EXPECT_GE(bundle.client.slowed_down(), 300U)
      << asked << " look-ups of at most 20 wait, " << pending
      << " bytes are counted, of 400 MiB that are held";
}

TEST(Act, RequestsBehindPendingChangesOfTheirJobAreSlowedDown) {
  TrackerBundle bundle({.tracker = {.batcher = {.pending_bytes_max = 20 * 1024 * 1024}}});
  bundle.submit(job_cron("a", "0 0 * * * ?"));
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{20};
  for (int i = 0; i < 400; ++i) {
    wire::Act act{.verb = i % 2 == 0 ? wire::Verb::kSuspend : wire::Verb::kResume,
                  .group = "default",
                  .task_id = "a"};
    act.payload = std::string(1024 * 1024, 'x');
    bundle.client.act(std::move(act));
  }
  bundle.run_for(milliseconds{500});
  std::string sizes;
  for (const auto& [name, size] : bundle.tracker().sizes()) {
    if (name.find("changes") != std::string::npos || name.find("batcher") != std::string::npos)
      sizes += name + " " + std::to_string(size) + ", ";
  }
  EXPECT_GE(bundle.client.slowed_down(), 300U) << sizes;
}

}  // namespace
}  // namespace carillon::jobtracker
