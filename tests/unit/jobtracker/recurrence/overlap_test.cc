#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// What happens when a fire comes due while the run before has not ended, and how rows are
// generated.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::job_cron;
using carillon::testing::job_every;
using carillon::testing::job_manual;
using carillon::testing::job_now;
using carillon::testing::RunRecord;
using carillon::testing::skipped;
using carillon::testing::TrackerBundle;
using carillon::testing::triggers;
using carillon::testing::triggers_once;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

JobSpec counted(Duration interval, int count, Overlap overlap) {
  JobSpec job = job_every("a", interval);
  job.schedule.count = count;
  job.overlap = overlap;
  return job;
}

TEST(Overlap, SkipResumesAtTheNextFireAfterTheRunEnds) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.threads = 8}), seconds{25});
  bundle.submit(job_cron("a", "*/10 * * * * ?"));
  bundle.run_for(minutes{3});
  const auto runs = bundle.runs_of("a");
  ASSERT_GE(runs.size(), 5U);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].trigger_time - runs[i - 1].trigger_time, seconds{30});
  }
  EXPECT_EQ(bundle.workers()[0]->busy_max(), 1);
  EXPECT_EQ(skipped(bundle, "a"), static_cast<std::int64_t>(2 * (runs.size() - 1)));
  EXPECT_LE(bundle.waiting("a").size(), 1U);
}

TEST(Overlap, SkipCountsMoreThanAMillionFires) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.threads = 8}), minutes{1});
  bundle.submit(job_cron("a", "* * * * * ?"));
  bundle.run_for(seconds{10});
  bundle.clock.set_wall(bundle.now() + hours{13 * 24});
  ASSERT_TRUE(bundle.run_until([&] { return bundle.runs_of("a").size() >= 2; }));
  const auto runs = bundle.runs_of("a");
  const Duration between = runs[1].trigger_time - runs[0].trigger_time;
  EXPECT_GT(between, hours{13 * 24});
  EXPECT_EQ(skipped(bundle, "a"), between / seconds{1} - 1);
}

TEST(Overlap, SkippedFiresOfAnUnstartedRunCarryNoOtherMessage) {
  TrackerBundle bundle;
  bundle.submit(job_every("a", seconds{10}));
  bundle.run_for(minutes{1});
  bundle.add_worker();
  ASSERT_TRUE(bundle.run_until([&] { return skipped(bundle, "a") > 0; }));
  for (const LogEntry& entry : bundle.log("a")) {
    if (entry.state != LogState::kSkipped) continue;
    EXPECT_EQ(entry.message, "the previous run was still waiting or running");
  }
}

TEST(Overlap, QueueRunsEveryFireInSequence) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 8});
  runs_take(worker, seconds{13});
  JobSpec job = job_every("a", seconds{10});
  job.overlap = Overlap::kQueue;
  job.schedule.count = 12;
  bundle.submit(job);
  bundle.run_for(minutes{5});
  EXPECT_THAT(triggers_once(bundle.runs_of("a")), SizeIs(12));
  EXPECT_EQ(worker.busy_max(), 1);
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Overlap, QueueOneKeepsTheLatestFireAndCountsTheOthers) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 8});
  runs_take(worker, seconds{35});
  const WallTime start = bundle.now();
  JobSpec job = counted(seconds{10}, 4, Overlap::kQueueOne);
  job.schedule.first = start;
  bundle.submit(job);
  bundle.run_for(minutes{5});
  const auto runs = bundle.runs_of("a");
  ASSERT_THAT(runs, SizeIs(4)) << "a count is of runs: " << bundle.story("a");
  EXPECT_EQ(worker.busy_max(), 1);
  for (std::size_t i = 1; i + 1 < runs.size(); ++i) {  // Behind the last there is no other.
    const Duration waited = runs[i].started_wall - runs[i].trigger_time;
    EXPECT_LT(waited, seconds{10}) << "the latest fire before the end of the run before";
  }
  EXPECT_THAT(triggers_once(runs), SizeIs(4));
  EXPECT_EQ(skipped(bundle, "a"), 5);
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Overlap, QueueOneKeepsOneWaitingRunOverARestart) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 8});
  runs_take(worker, minutes{3});
  JobSpec job = job_every("a", seconds{10});
  job.overlap = Overlap::kQueueOne;
  bundle.submit(job);
  bundle.run_for(minutes{1});
  bundle.restart_after(seconds{1});
  bundle.run_for(minutes{1});
  std::int64_t due = 0;
  for (const WaitingJob& one : bundle.waiting("a")) due += one.trigger_time <= bundle.now();
  EXPECT_EQ(due, 1);
  EXPECT_THAT(bundle.runs(), SizeIs(1));
}

TEST(Overlap, QueueOneKeepsTheLatestFireBehindManyTriggeredRuns) {
  TrackerBundle bundle({.tracker = {.recurrence = {.blocked_max = 2}}});
  runs_take(bundle.add_worker({.threads = 8}), minutes{5});
  JobSpec job = job_every("a", seconds{10});
  job.overlap = Overlap::kQueueOne;
  bundle.submit(job);
  bundle.run_for(seconds{5});
  for (int i = 0; i < 2; ++i) bundle.act(wire::Verb::kTrigger, "a");
  bundle.run_for(minutes{1});
  std::vector<WallTime> regular;
  for (const WaitingJob& one : bundle.waiting("a")) {
    const bool is_due = !one.triggered && one.trigger_time <= bundle.now();
    if (is_due) regular.push_back(one.trigger_time);
  }
  ASSERT_THAT(regular, SizeIs(1)) << bundle.story("a");
  EXPECT_LT(bundle.now() - regular.front(), seconds{10});
}

TEST(Overlap, WaitingFireIsSkippedOnceWhenTheClockJumpsAhead) {
  TrackerBundle bundle({.tracker = {.dispatcher = {.claim_ahead = seconds{1}}}});
  runs_take(bundle.add_worker({.threads = 8}), minutes{1});
  bundle.submit(counted(milliseconds{400}, 5, Overlap::kQueueOne));
  bundle.run_for(seconds{3});
  bundle.clock.set_wall(bundle.now() + seconds{30});
  bundle.run_for(minutes{10});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(5)) << bundle.story("a");
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Overlap, ParallelRunsEveryFireAtItsTime) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 8});
  runs_take(worker, seconds{35});
  JobSpec job = job_every("a", seconds{10});
  job.overlap = Overlap::kParallel;
  bundle.submit(job);
  bundle.run_for(minutes{2});
  EXPECT_GE(bundle.runs_of("a").size(), 12U);
  EXPECT_EQ(worker.busy_max(), 4);
  EXPECT_EQ(skipped(bundle, "a"), 0);
}

TEST(Overlap, ShortIntervalsLoseNoFire) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 8});
  bundle.submit(counted(milliseconds{50}, 60, Overlap::kParallel));
  bundle.run_for(seconds{10});
  EXPECT_THAT(triggers_once(bundle.runs_of("a")), SizeIs(60));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Overlap, QueueBeyondItsLimitSkipsFiresAndRecordsThem) {
  TrackerBundle bundle({.tracker = {.recurrence = {.blocked_max = 3}}});
  runs_take(bundle.add_worker({.threads = 8}), minutes{2});
  JobSpec job = job_every("a", seconds{10});
  job.overlap = Overlap::kQueue;
  bundle.submit(job);
  bundle.run_for(seconds{115});
  EXPECT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_EQ(skipped(bundle, "a"), 8) << "twelve fires: one runs, three wait";
}

TEST(Overlap, FireDuringATriggeredRunIsSkippedOnce) {
  TrackerBundle bundle({.tracker = {.dispatcher = {.preload = {.capacity = 100}, .refill = 50}}});
  auto& worker = bundle.add_worker({.threads = 4});
  bundle.submit(job_cron("a", "0 * * * * ?"));
  bundle.run_to(std::chrono::floor<minutes>(bundle.now()) + seconds{50});
  runs_take(worker, seconds{90});
  bundle.act(wire::Verb::kTrigger, "a");
  // Reads of a full table pass the skip of the fire on its way to the store.
  bundle.connection().work_time = [] { return milliseconds{30}; };
  std::vector<JobSpec> backlog;
  for (int i = 0; i < 900; ++i) backlog.push_back(job_now("b" + std::to_string(i)));
  bundle.submit(backlog);
  bundle.run_for(seconds{20});
  EXPECT_LE(bundle.waiting("a").size(), 1U) << "at most one regular run at a time";
  bundle.run_for(minutes{5});
  EXPECT_LE(bundle.waiting("a").size(), 1U);
}

TEST(Overlap, RunEndingJustBeforeAFireDoesNotSkipIt) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.threads = 4}), milliseconds{450});
  bundle.submit(job_cron("a", "0 * * * * ?"));
  const WallTime fire = std::chrono::ceil<minutes>(bundle.now());
  bundle.run_to(fire - milliseconds{480});
  bundle.act(wire::Verb::kTrigger, "a");
  bundle.run_to(fire + milliseconds{200});
  EXPECT_EQ(skipped(bundle, "a"), 0);
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(2));
  EXPECT_EQ(bundle.runs_of("a")[1].trigger_time, fire);
}

TEST(Overlap, ExpiredQueuedRunsMakeWayForTheOthers) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 4});
  runs_take(worker, minutes{2});
  JobSpec job = job_every("a", seconds{20});
  job.overlap = Overlap::kQueue;
  job.start_deadline = seconds{30};
  job.schedule.count = 9;
  bundle.submit(job);
  bundle.run_for(seconds{10});
  runs_take(worker, seconds{1});
  bundle.run_for(minutes{5});
  std::int64_t expired = 0;
  for (const LogEntry& entry : bundle.log("a")) expired += entry.state == LogState::kExpired;
  EXPECT_GT(expired, 0);
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(9)) << "what has expired was no run";
  EXPECT_TRUE(bundle.is_empty()) << "nothing is stuck behind what has expired";
}

TEST(Overlap, CountedIntervalCountsRunsNotSkippedFires) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 4});
  JobSpec job = job_every("a", seconds{30});
  job.schedule.count = 4;
  bundle.submit(job);
  bundle.run_for(seconds{25});
  runs_take(worker, seconds{20});
  bundle.act(wire::Verb::kTrigger, "a");  // The second fire meets it, and is skipped.
  bundle.run_for(minutes{5});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(5)) << "four of the schedule, and the triggered one";
  EXPECT_TRUE(bundle.is_empty());
}

// A run that waits for its retry has not ended, whatever is restarted meanwhile.
TEST(Overlap, RunWaitingForItsRetryBlocksOthersOverARestart) {
  for (const bool restart : {false, true}) {
    SCOPED_TRACE(restart);
    TrackerBundle bundle;
    auto& worker = bundle.add_worker({.threads = 4});
    worker.behaviour = [](const wire::HandedJob& job, const auto&) {
      return FakeRun{.time = seconds{1},
                     .outcome = job.id.attempt == 1 ? wire::RunOutcome::kException
                                                    : wire::RunOutcome::kSucceeded};
    };
    JobSpec job = job_manual("a");
    job.retries = {.max = 1, .base = minutes{2}};
    bundle.submit(job);
    JobSpec minutely = job_cron("b", "0 * * * * ?");
    minutely.retries = {.max = 1, .base = minutes{2}};
    bundle.submit(minutely);
    bundle.run_to(std::chrono::ceil<minutes>(bundle.now()) + seconds{2});
    bundle.act(wire::Verb::kTrigger, "a");
    bundle.run_for(seconds{5});
    ASSERT_THAT(bundle.runs(), SizeIs(2));
    if (restart) bundle.restart_after(milliseconds{500});
    for (const char* task : {"a", "b"}) {
      const wire::Message answer = bundle.act(wire::Verb::kTrigger, task);
      ASSERT_TRUE(std::holds_alternative<wire::ErrorReply>(answer)) << task;
      EXPECT_EQ(std::get<wire::ErrorReply>(answer).error.code, ErrorCode::kConflict);
    }
    bundle.run_for(seconds{100});
    EXPECT_THAT(bundle.runs(), SizeIs(2)) << "no fire of b beside its retry";
    bundle.run_for(seconds{20});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(2));
    EXPECT_EQ(bundle.runs_of("b")[1].id.job_id, bundle.runs_of("b")[0].id.job_id);
    bundle.run_for(minutes{2});
    EXPECT_GE(bundle.runs_of("b").size(), 3U) << "its schedule goes on";
    EXPECT_EQ(skipped(bundle, "b"), 2);
  }
}

// Far retries stand in the delayed table.
TEST(Overlap, DistantRetryBlocksOtherRunsOverARestart) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 4});
  worker.behaviour = [](const wire::HandedJob& job, const auto&) {
    return FakeRun{.time = seconds{1},
                   .outcome = job.id.attempt == 1 ? wire::RunOutcome::kException
                                                  : wire::RunOutcome::kSucceeded};
  };
  JobSpec job = job_cron("a", "0 * * * * ?");
  job.retries = {.max = 1, .base = minutes{25}};
  JobSpec once = job_now("once");
  once.retries = job.retries;
  bundle.submit({job, once});
  bundle.run_to(std::chrono::ceil<minutes>(bundle.now()) + seconds{5});
  ASSERT_THAT(bundle.runs(), SizeIs(2));
  EXPECT_THAT(bundle.waiting(), IsEmpty());
  EXPECT_THAT(bundle.delayed(), SizeIs(2));
  EXPECT_EQ(bundle.submit(job_now("once")).status, wire::SubmitStatus::kDuplicate);
  bundle.restart_after(milliseconds{500});
  const wire::Message answer = bundle.act(wire::Verb::kTrigger, "a");
  EXPECT_TRUE(std::holds_alternative<wire::ErrorReply>(answer)) << "it has not ended";
  bundle.run_for(minutes{23});
  EXPECT_THAT(bundle.runs(), SizeIs(2)) << "no fire beside the retry";
  bundle.run_for(minutes{2});
  EXPECT_THAT(bundle.runs_of("once"), SizeIs(2));
  ASSERT_GE(bundle.runs_of("a").size(), 2U);
  EXPECT_EQ(bundle.runs_of("a")[1].id.job_id, bundle.runs_of("a")[0].id.job_id);
}

TEST(Overlap, QueuedFiresWaitForARetryOverARestart) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 4});
  worker.behaviour = [](const wire::HandedJob& job, const auto&) {
    return FakeRun{.time = seconds{1},
                   .outcome = job.id.attempt == 1 ? wire::RunOutcome::kException
                                                  : wire::RunOutcome::kSucceeded};
  };
  JobSpec job = job_every("a", seconds{20});
  job.overlap = Overlap::kQueue;
  job.retries = {.max = 1, .base = minutes{1}};
  bundle.submit(job);
  bundle.run_for(seconds{5});
  bundle.restart_after(milliseconds{500});
  bundle.run_for(seconds{50});
  EXPECT_THAT(bundle.runs(), SizeIs(1));
  bundle.run_for(seconds{10});
  EXPECT_EQ(bundle.runs()[1].id.job_id, bundle.runs()[0].id.job_id);
}

TEST(Generation, RowsReachTenMinutesAheadWithoutGapsOrDuplicates) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 4});
  JobSpec job = job_every("a", seconds{7});
  job.overlap = Overlap::kParallel;
  const WallTime first = bundle.now() + seconds{3};
  job.schedule.first = first;
  bundle.submit(job);
  for (int i = 0; i < 80; ++i) {
    bundle.run_for(seconds{61});
    for (const WaitingJob& row : bundle.waiting()) {
      ASSERT_LE(row.trigger_time, bundle.now() + minutes{10});
    }
    ASSERT_GE(bundle.waiting().size(), 6U) << "the next minute is always there";
  }
  const auto fires = triggers_once(bundle.runs_of("a"));
  WallTime expected = first;
  for (const WallTime fire : fires) {
    ASSERT_EQ(fire, expected);
    expected += seconds{7};
  }
  EXPECT_GE(expected + seconds{7}, bundle.now());
}

TEST(Generation, DistantFirstFireCostsNothingUntilItIsNear) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 4});
  JobSpec job = job_every("a", seconds{10});
  job.overlap = Overlap::kParallel;
  job.schedule.first = bundle.now() + hours{2};
  bundle.submit(job);
  JobSpec other = job_every("b", minutes{1});
  other.overlap = Overlap::kParallel;
  bundle.submit(other);
  bundle.run_for(minutes{1});
  std::size_t operations = 0;
  std::size_t commits = 0;
  std::size_t works = 0;
  bundle.connection().on_commit = [&](const Batch& batch) {
    operations += batch.operations.size();
    ++commits;
  };
  bundle.connection().work_time = [&works] {
    ++works;
    return std::chrono::microseconds{500};
  };
  bundle.run_for(hours{1});
  bundle.connection().work_time = [] { return std::chrono::microseconds{500}; };
  EXPECT_LT(operations, 1000U) << "sixty runs of the other, and some housekeeping";
  EXPECT_LT(works - commits, 100U) << "nor is the store asked again and again";
  EXPECT_GE(bundle.runs_of("b").size(), 60U) << "which is not held up";
  bundle.run_to(*job.schedule.first + seconds{55});
  EXPECT_THAT(triggers_once(bundle.runs_of("a")), SizeIs(6));
}

TEST(Generation, KillDuringABatchLeavesNoGapOrDuplicate) {
  for (const bool commit_lands : {false, true}) {
    for (int moment = 0; moment < 12; ++moment) {
      SCOPED_TRACE(moment);
      TrackerBundle bundle(
          {.tracker = {.recurrence = {.horizon = seconds{20}, .period = seconds{18}}}});
      bundle.add_worker({.threads = 4});
      JobSpec job = job_every("a", milliseconds{100});
      job.overlap = Overlap::kParallel;
      const WallTime first = bundle.now() + seconds{5};
      job.schedule.first = first;
      bundle.submit(job);
      // Nothing is generated but by the passes, every 18 s from the start.
      bundle.connection().work_time = [] { return milliseconds{2}; };
      bundle.run_to(first - seconds{5} + seconds{36} + milliseconds{moment});
      bundle.restart_after(milliseconds{500}, commit_lands);
      bundle.run_for(minutes{1});
      WallTime expected = first;
      for (const WallTime fire : triggers_once(bundle.runs_of("a"))) {
        ASSERT_EQ(fire, expected);
        expected += milliseconds{100};
      }
      EXPECT_GE(expected, bundle.now() - milliseconds{200});
    }
  }
}

TEST(Generation, ShortensTheHorizonWhenThereWouldBeTooManyRows) {
  TrackerBundle bundle({.tracker = {.recurrence = {.rows_max = 600}}});
  for (int i = 0; i < 4; ++i) {
    JobSpec job = job_every("a" + std::to_string(i), seconds{1});
    job.overlap = Overlap::kParallel;
    bundle.submit(job);
  }
  bundle.run_for(seconds{5});
  bundle.add_worker({.threads = 16});
  bundle.run_for(minutes{6});
  EXPECT_LE(bundle.waiting().size(), 900U);
  for (int i = 0; i < 4; ++i) {
    EXPECT_GE(bundle.runs_of("a" + std::to_string(i)).size(), 360U);
  }
}

TEST(Generation, StaysBelowItsCapWhenADensePeriodBegins) {
  TrackerBundle bundle({.tracker = {.recurrence = {.rows_max = 600}}});
  bundle.add_worker({.threads = 16});
  const WallTime dense = std::chrono::floor<std::chrono::hours>(bundle.now()) + minutes{30};
  for (int i = 0; i < 4; ++i) {
    JobSpec job = job_cron("a" + std::to_string(i), "* 30-59 * * * ?");
    job.overlap = Overlap::kParallel;
    bundle.submit(job);
  }
  std::size_t most = 0;
  while (bundle.now() < dense + minutes{10}) {
    bundle.run_for(seconds{1});
    most = std::max(most, bundle.waiting().size());
  }
  EXPECT_LE(most, 900U);
  for (int i = 0; i < 4; ++i) {
    const auto fires = triggers(bundle.runs_of("a" + std::to_string(i)));
    EXPECT_GE(fires.size(), 599U) << "none is late";
    EXPECT_EQ(*fires.begin(), dense);
  }
  bundle.restart_after(seconds{1});
  bundle.run_for(minutes{5});
  EXPECT_LE(bundle.waiting().size(), 900U) << "what was generated before counts";
}

// A store that is slow, and many schedules at once.
TEST(Generation, NoScheduleGetsFarAheadWhileAnotherRunsDry) {
  TrackerBundle bundle;
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 600; ++i) {
    jobs.push_back(job_every("a" + std::to_string(i), seconds{1}));
    jobs.back().overlap = Overlap::kParallel;
  }
  bundle.connection().work_time = [] { return milliseconds{200}; };
  const WallTime begin = bundle.now() + seconds{10};  // All have something by then.
  std::size_t rows = 0;
  int many = 0;
  int dry = 0;
  std::int64_t pending = 0;
  bundle.connection().on_commit = [&](const Batch& batch) {
    std::map<DefinitionId, WallTime> through;
    for (const auto& [id, definition] : bundle.tables().definitions)
      through[id] = definition.generated_through;
    for (const Operation& operation : batch.operations) {
      if (const auto* change = std::get_if<ChangeDefinition>(&operation)) through.erase(change->id);
    }
    for (const Operation& operation : batch.operations) {
      const auto* change = std::get_if<ChangeDefinition>(&operation);
      if (change == nullptr || change->add.empty()) continue;
      rows += change->add.size();
      if (bundle.now() > begin && change->add.back().trigger_time > bundle.now() + seconds{25}) {
        ++many;
        for (const auto& [id, last] : through) dry += last < bundle.now() ? 1 : 0;
      }
    }
    pending = std::max(pending, bundle.stat("operations_pending"));
  };
  bundle.submit(jobs);
  bundle.run_for(minutes{2});
  EXPECT_GT(many, 1000);
  EXPECT_EQ(dry, 0);
  EXPECT_LE(pending, 10'000) << "with what runs";
  EXPECT_GT(rows, 600U * 120U);
}

TEST(Generation, OverlappingScheduleKnowsItsLastFireAfterARestart) {
  TrackerBundle bundle;
  bundle.add_worker();
  JobSpec job = job_cron("a", "0 0 3 * * ?");
  job.overlap = Overlap::kParallel;
  bundle.submit(job);
  const auto has_run = [&] { return bundle.runs_of("a").size() == 1; };
  ASSERT_TRUE(bundle.run_until(has_run, std::chrono::hours{25}));
  bundle.run_for(minutes{10});
  bundle.restart_after(seconds{1});
  bundle.run_for(seconds{1});
  EXPECT_EQ(bundle.definition("a")->last_fire, bundle.runs_of("a").front().trigger_time);
}

TEST(Generation, ClockJumpLosesAndRepeatsNoFire) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kParallel}) {
    for (const int step : {1, -1}) {
      SCOPED_TRACE(step);
      TrackerBundle bundle;
      bundle.add_worker({.threads = 8});
      JobSpec job = job_cron("a", "0 */5 * * * ?");
      job.overlap = overlap;
      bundle.submit(job);
      bundle.run_for(minutes{32});
      bundle.clock.set_wall(bundle.now() + std::chrono::hours{step});
      bundle.run_for(std::chrono::hours{2} + minutes{1});
      const auto fires = triggers_once(bundle.runs_of("a"));
      std::int64_t outcomes = static_cast<std::int64_t>(fires.size());
      outcomes += skipped(bundle, "a");
      const auto all = (*fires.rbegin() - *fires.begin()) / minutes{5} + 1;
      EXPECT_EQ(outcomes, all) << "each fire has one outcome";
      EXPECT_GE(*fires.rbegin(), bundle.now() - minutes{5});
    }
  }
}

TEST(Generation, ResumeRepeatsNoRunMadeWhileTheClockWasAhead) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
    for (const int lives : {1, 2}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(overlap) << ' ' << lives);
      TrackerBundle bundle;
      bundle.add_worker({.threads = 8});
      JobSpec job = job_every("a", seconds{10});
      job.overlap = overlap;
      bundle.submit(job);
      bundle.run_for(minutes{1});
      bundle.clock.set_wall(bundle.now() + minutes{5});
      bundle.run_for(minutes{2} + seconds{5});  // A run under way would tell of its fire.
      bundle.kill_tracker();
      bundle.clock.set_wall(bundle.now() - minutes{5});
      bundle.start_tracker();
      bundle.run_for(seconds{15});
      if (lives == 2) bundle.restart_after(seconds{1});
      bundle.run_for(seconds{5});
      bundle.act(wire::Verb::kSuspend, "a");
      bundle.run_for(seconds{5});
      bundle.act(wire::Verb::kResume, "a");
      bundle.run_for(minutes{15});
      const auto fires = triggers_once(bundle.runs_of("a"));
      EXPECT_GE(*fires.rbegin(), bundle.now() - seconds{15}) << bundle.story("a");
    }
  }
}

// Passed over, behind a run or by a later one, or expired: the outcome stands.
TEST(Generation, ResumeRepeatsNoOutcomeRecordedWhileTheClockWasAhead) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kQueueOne}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle bundle;
    runs_take(bundle.add_worker({.threads = 8}), seconds{95});
    JobSpec job = job_every("a", seconds{10});
    job.overlap = overlap;
    job.start_deadline = seconds{20};
    bundle.submit(job);
    bundle.run_for(minutes{1});
    bundle.clock.set_wall(bundle.now() + minutes{5});
    bundle.run_for(minutes{4});
    bundle.clock.set_wall(bundle.now() - minutes{5});
    bundle.run_for(seconds{15});
    bundle.act(wire::Verb::kSuspend, "a");
    bundle.run_for(seconds{5});
    bundle.act(wire::Verb::kResume, "a");
    bundle.run_for(minutes{15});
    std::map<WallTime, int> outcomes;
    for (const LogEntry& entry : bundle.log("a")) {
      for (std::int64_t i = 0; entry.final && i < entry.count; ++i)
        ++outcomes[entry.trigger_time + i * seconds{10}];
    }
    std::vector<WallTime> twice;
    for (const auto& [fire, count] : outcomes) {
      if (count > 1) twice.push_back(fire);
    }
    EXPECT_THAT(twice, SizeIs(0)) << bundle.story("a");
  }
}

TEST(Definitions, RunOutlivingItsRemovedDefinitionDoesNotAffectTheNext) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, minutes{3});
  bundle.submit(job_every("old", minutes{30}));
  bundle.run_for(seconds{5});
  worker.lose_frames(true);  // It does not hear that its run is cancelled.
  bundle.act(wire::Verb::kCancel, "old");
  bundle.restart_after(milliseconds{100});
  bundle.submit(job_every("new", minutes{30}));
  bundle.run_for(minutes{20});
  EXPECT_LE(bundle.waiting("new").size(), 1U);
  EXPECT_THAT(bundle.runs_of("new"), SizeIs(1));
}

TEST(Definitions, RunOfAReplacedDefinitionIsNotRetried) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 4}).behaviour = [](const auto&, const JobSpec& spec) {
    return FakeRun{.time = seconds{10},
                   .outcome = spec.payload == "old" ? wire::RunOutcome::kException
                                                    : wire::RunOutcome::kSucceeded};
  };
  JobSpec job = job_every("a", minutes{30});
  job.payload = "old";
  job.retries = {.max = 5, .base = seconds{1}};
  job.overlap = Overlap::kQueue;  // The new one's first run waits for the end of the old one's.
  const JobId old = bundle.submit(job).job_id;
  bundle.run_for(seconds{5});
  job.payload = "new";
  job.replace_on_exist = true;
  const JobId renewed = bundle.submit(job).job_id;
  bundle.run_for(minutes{20});
  const auto log = bundle.log("a");
  ASSERT_THAT(log, SizeIs(3)) << bundle.story("a");
  EXPECT_EQ(log[0].state, LogState::kCancelled) << "the definition";
  EXPECT_EQ(log[1].job_id, old);
  EXPECT_EQ(log[1].state, LogState::kFailed);
  EXPECT_TRUE(log[1].final);
  EXPECT_EQ(log[2].job_id, renewed);
  EXPECT_EQ(log[2].state, LogState::kSucceeded);
}

TEST(Definitions, IdIsNotReusedAfterTheNewestDefinitionIsRemoved) {
  TrackerBundle bundle;
  bundle.submit(job_every("old", minutes{30}));
  const DefinitionId old = bundle.definition("old")->id;
  bundle.act(wire::Verb::kCancel, "old");
  bundle.restart_after(milliseconds{100});
  bundle.submit(job_every("new", minutes{30}));
  EXPECT_GT(bundle.definition("new")->id, old);
}

TEST(Definitions, SuspendOrCancelFreesPregeneratedFiresFromMemory) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.threads = 1}), std::chrono::hours{1});
  bundle.submit(job_now("keeps the thread"));
  bundle.run_for(seconds{1});
  JobSpec often = job_every("often", seconds{1});
  often.overlap = Overlap::kParallel;
  JobSpec other = job_every("other", seconds{10});
  other.overlap = Overlap::kParallel;
  bundle.submit({often, other});
  bundle.run_for(seconds{2});
  EXPECT_GT(bundle.stat("jobs_in_memory"), 500);
  const auto of_other = [&] { return static_cast<std::int64_t>(bundle.waiting("other").size()); };
  bundle.act(wire::Verb::kSuspend, "often");
  EXPECT_EQ(bundle.stat("jobs_in_memory"), of_other());
  bundle.act(wire::Verb::kResume, "often");
  bundle.run_for(seconds{2});
  EXPECT_GT(bundle.stat("jobs_in_memory"), 500);
  bundle.act(wire::Verb::kCancel, "often");
  EXPECT_EQ(bundle.stat("jobs_in_memory"), of_other());
  bundle.act(wire::Verb::kCancel, "other");
  EXPECT_EQ(bundle.stat("jobs_in_memory"), 0);
}

TEST(Count, CountsRunsNotExpiredOrSkippedFires) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kQueueOne,
                                Overlap::kCancelRunning, Overlap::kParallel}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle::Options options;
    options.tracker.recurrence.blocked_max = 2;
    TrackerBundle bundle(options);
    JobSpec job = job_every("a", seconds{2});
    job.overlap = overlap;
    job.schedule.count = 5;
    job.start_deadline = seconds{4};
    bundle.submit(job);
    bundle.run_for(seconds{30});
    runs_take(bundle.add_worker({.threads = 8}), milliseconds{100});
    bundle.run_for(minutes{2});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(5)) << bundle.story("a");
    EXPECT_TRUE(bundle.is_empty());
  }
}

TEST(Count, ExcludesSuspendedRuns) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kParallel}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle bundle;
    bundle.add_worker();
    const JobSpec spec = counted(std::chrono::minutes{1}, 5, overlap);
    bundle.submit(spec);
    bundle.run_for(std::chrono::seconds{90});
    bundle.act(wire::Verb::kSuspend, "a");
    bundle.run_for(std::chrono::minutes{3});
    bundle.act(wire::Verb::kResume, "a");
    bundle.run_for(std::chrono::minutes{20});
    EXPECT_THAT(bundle.runs_of("a"), ::testing::SizeIs(5));
    EXPECT_TRUE(bundle.is_empty());
  }
}

TEST(Count, ExcludesARunSuspendedBetweenItsClaimAndItsTime) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kParallel}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle bundle(
        {.tracker = {.dispatcher = {.claim_ahead = std::chrono::milliseconds{2500}}}});
    bundle.add_worker({.threads = 8});
    JobSpec spec = counted(seconds{1}, 5, overlap);
    spec.schedule.first = bundle.now() + std::chrono::seconds{10};
    bundle.submit(spec);
    bundle.run_to(*spec.schedule.first - std::chrono::milliseconds{500});
    ASSERT_THAT(bundle.tables().executing, ::testing::SizeIs(overlap == Overlap::kSkip ? 1 : 2));
    bundle.act(wire::Verb::kSuspend, "a");
    bundle.run_for(std::chrono::minutes{1});
    EXPECT_THAT(bundle.runs_of("a"), ::testing::IsEmpty());
    bundle.act(wire::Verb::kResume, "a");
    bundle.run_for(std::chrono::minutes{1});
    EXPECT_THAT(bundle.runs_of("a"), ::testing::SizeIs(5));
    EXPECT_TRUE(bundle.is_empty());
  }
}

// The suspension comes before, with and after the claim of a run.
TEST(Count, IsExactWheneverTheJobIsSuspended) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
    for (int moment = 0; moment < 200; moment += 4) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(overlap) << ' ' << moment);
      TrackerBundle bundle;
      bundle.add_worker();
      bundle.connection().work_time = [] { return std::chrono::milliseconds{20}; };
      JobSpec spec = counted(seconds{1}, 6, overlap);
      spec.schedule.first = bundle.now() + std::chrono::seconds{10};
      bundle.submit(spec);
      bundle.run_to(*spec.schedule.first + std::chrono::milliseconds{1880 + moment});
      bundle.act(wire::Verb::kSuspend, "a");
      bundle.run_for(std::chrono::seconds{5});
      bundle.act(wire::Verb::kResume, "a");
      bundle.run_for(std::chrono::minutes{1});
      EXPECT_THAT(bundle.runs_of("a"), ::testing::SizeIs(6));
      EXPECT_TRUE(bundle.is_empty());
    }
  }
}

TEST(Count, ExcludesAReturnedUnstartedRunWhenItsJobIsSuspended) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kParallel}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle bundle;
    auto& worker = bundle.add_worker();
    runs_take(worker, minutes{60});
    const JobSpec spec = counted(minutes{1}, 2, overlap);
    bundle.submit(spec);
    bundle.run_for(seconds{2});
    ASSERT_THAT(worker.handed(), ::testing::SizeIs(1));
    const wire::AttemptId first = worker.handed()[0];
    worker.leave();
    worker.give_back(first);
    bundle.run_for(seconds{2});
    bundle.act(wire::Verb::kSuspend, "a");
    EXPECT_THAT(bundle.waiting(), ::testing::IsEmpty());
    ASSERT_THAT(bundle.log("a"), ::testing::SizeIs(1)) << "its fire has one outcome";
    EXPECT_EQ(bundle.log("a")[0].state, LogState::kCancelled);
    EXPECT_EQ(bundle.definition("a")->fired, 0);
  }
}

// The last run of all is waiting, being claimed, held or sent at that moment.
TEST(Count, IsExactWhenAResumeFollowsASuspendAtOnce) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
    for (int moment = -160; moment < 60; moment += 4) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(overlap) << ' ' << moment);
      TrackerBundle bundle;
      bundle.add_worker();
      bundle.connection().work_time = [] { return milliseconds{200}; };
      JobSpec spec = counted(seconds{1}, 3, overlap);
      spec.schedule.first = bundle.now() + seconds{10};
      bundle.submit(spec);
      bundle.run_to(*spec.schedule.first + seconds{2} + milliseconds{moment});
      bundle.client.act({.verb = wire::Verb::kSuspend, .group = "default", .task_id = "a"});
      bundle.client.act({.verb = wire::Verb::kResume, .group = "default", .task_id = "a"});
      bundle.run_for(minutes{1});
      EXPECT_THAT(bundle.runs_of("a"), SizeIs(3)) << bundle.story("a");
      EXPECT_TRUE(bundle.is_empty());
    }
  }
}

TEST(Count, ReplacesALastRunReturnedAfterSuspendAndResume) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kParallel}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle bundle;
    auto& worker = bundle.add_worker();
    runs_take(worker, minutes{60});
    const JobSpec spec = counted(minutes{1}, 1, overlap);
    bundle.submit(spec);
    bundle.run_for(seconds{2});
    ASSERT_THAT(worker.handed(), SizeIs(1));
    bundle.act(wire::Verb::kSuspend, "a");
    bundle.act(wire::Verb::kResume, "a");
    worker.give_back(worker.handed()[0]);
    bundle.run_for(seconds{2});
    ASSERT_NE(bundle.definition("a"), nullptr);
    EXPECT_EQ(bundle.definition("a")->fired, 1);
    EXPECT_THAT(bundle.waiting("a"), SizeIs(1));
  }
}

// Each fire fails once before it succeeds, one worker dies, and another does not hear that its
// results are known.
TEST(Count, IsExactDespiteRetriesWorkerDeathsAndRepeatedReports) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel,
                                Overlap::kQueueOne, Overlap::kCancelRunning}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    const auto behaviour = [](const wire::HandedJob& job, const JobSpec&) {
      return FakeRun{.time = seconds{2},
                     .outcome = job.id.attempt == 1 ? wire::RunOutcome::kException
                                                    : wire::RunOutcome::kSucceeded};
    };
    TrackerBundle bundle;
    auto& first = bundle.add_worker({.name = "first"});
    first.behaviour = behaviour;
    JobSpec spec = counted(seconds{5}, 10, overlap);
    spec.retries = {.max = 3, .base = milliseconds{500}};
    bundle.submit(spec);
    bundle.run_for(seconds{6});
    first.die();
    auto& second = bundle.add_worker({.name = "second"});
    second.behaviour = behaviour;
    bundle.run_for(seconds{15});
    second.lose_frames(true);
    bundle.run_for(milliseconds{2500});
    second.lose_frames(false);
    bundle.run_for(minutes{5});
    std::set<JobId> succeeded;
    for (const LogEntry& entry : bundle.log("a")) {
      if (entry.state != LogState::kSucceeded) continue;
      EXPECT_TRUE(succeeded.insert(entry.job_id).second) << bundle.story("a");
    }
    // By cancel_running a run that was stopped for the next fire counts as well.
    std::set<JobId> begun;
    for (const auto& run : bundle.runs_of("a")) begun.insert(run.id.job_id);
    EXPECT_THAT(begun, SizeIs(10)) << bundle.story("a");
    if (overlap != Overlap::kCancelRunning) {
      EXPECT_THAT(succeeded, SizeIs(10)) << bundle.story("a");
    }
    EXPECT_TRUE(bundle.is_empty());
  }
}

}  // namespace
}  // namespace carillon::jobtracker
