#include <array>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// Fires that came while no job tracker ran: one outcome each, as the job's policy says.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_at;
using carillon::testing::job_cron;
using carillon::testing::job_every;
using carillon::testing::job_fixed_delay;
using carillon::testing::states;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Case {
  Overlap overlap = Overlap::kSkip;
  MisfirePolicy policy = MisfirePolicy::kFireOnce;
};

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  constexpr std::array kOverlaps{"Skip", "Queue", "QueueOne", "CancelRunning", "Parallel"};
  const char* overlap = kOverlaps.at(static_cast<std::size_t>(info.param.overlap));
  const char* policy = info.param.policy == MisfirePolicy::kFireOnce ? "FireOnce"
                       : info.param.policy == MisfirePolicy::kSkip   ? "Skip"
                                                                     : "FireAll";
  return std::string(overlap) + policy;
}

class AfterDownTime : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Misfire, AfterDownTime,
                         ::testing::Values(Case{Overlap::kSkip, MisfirePolicy::kFireOnce},
                                           Case{Overlap::kSkip, MisfirePolicy::kSkip},
                                           Case{Overlap::kSkip, MisfirePolicy::kFireAll},
                                           Case{Overlap::kQueue, MisfirePolicy::kFireOnce},
                                           Case{Overlap::kQueue, MisfirePolicy::kSkip},
                                           Case{Overlap::kQueue, MisfirePolicy::kFireAll},
                                           Case{Overlap::kQueueOne, MisfirePolicy::kFireOnce},
                                           Case{Overlap::kQueueOne, MisfirePolicy::kSkip},
                                           Case{Overlap::kCancelRunning, MisfirePolicy::kFireOnce},
                                           Case{Overlap::kCancelRunning, MisfirePolicy::kSkip},
                                           Case{Overlap::kParallel, MisfirePolicy::kFireOnce},
                                           Case{Overlap::kParallel, MisfirePolicy::kSkip},
                                           Case{Overlap::kParallel, MisfirePolicy::kFireAll}),
                         name_of);

std::int64_t missed(const TrackerBundle& bundle, const std::string& task_id) {
  std::int64_t all = 0;
  for (const LogEntry& entry : bundle.log(task_id)) {
    if (entry.state == LogState::kMissed) all += entry.count;
  }
  return all;
}

TEST(MissedFires, OfManyJobsProduceOneLogLine) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 4});
  for (int i = 0; i < 50; ++i) {
    JobSpec job = job_cron("job-" + std::to_string(i), "0 * * * * ?");
    job.misfire.policy = MisfirePolicy::kSkip;
    bundle.submit(job);
  }
  ::testing::internal::CaptureStderr();
  set_log_level(LogLevel::kInfo);
  bundle.restart_after(minutes{3});
  bundle.run_for(seconds{5});
  set_log_level(LogLevel::kOff);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("fires were missed  jobs=50  missed=100  run_now=0"));
  EXPECT_EQ(log.find("fires were missed"), log.rfind("fires were missed"));
}

// A fire each minute; the tracker is down for longer than the horizon, so that some of the missed
// fires have rows and some have none.
TEST_P(AfterDownTime, EveryFireHasOneOutcome) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 4});
  JobSpec job = job_cron("a", "0 * * * * ?");
  job.overlap = GetParam().overlap;
  job.misfire.policy = GetParam().policy;
  bundle.submit(job);
  bundle.run_to(std::chrono::floor<minutes>(bundle.now()) + minutes{5} + seconds{30});
  ASSERT_THAT(bundle.runs(), SizeIs(5));
  bundle.restart_after(minutes{40});
  const WallTime back = bundle.now();
  bundle.run_for(minutes{10});
  std::map<WallTime, int> runs;
  std::int64_t late = 0;
  for (const auto& run : bundle.runs()) {
    ++runs[run.trigger_time];
    late += run.trigger_time < back && run.started_wall >= back;
  }
  for (const auto& [fire, times] : runs) EXPECT_EQ(times, 1);
  const std::int64_t expected = GetParam().policy == MisfirePolicy::kFireAll    ? 40
                                : GetParam().policy == MisfirePolicy::kFireOnce ? 1
                                                                                : 0;
  EXPECT_EQ(late, expected);
  EXPECT_EQ(missed(bundle, "a"), 40 - expected);
  EXPECT_EQ(static_cast<std::int64_t>(runs.size()) + missed(bundle, "a"), 55);
}

// The occurrence that was missed stood in the delayed table.
TEST_P(AfterDownTime, DistantFireHasOneOutcome) {
  TrackerBundle bundle;
  bundle.add_worker();
  JobSpec job = job_every("a", hours{3});
  job.schedule.first = bundle.now() + hours{1};
  job.overlap = GetParam().overlap;
  job.misfire.policy = GetParam().policy;
  bundle.submit(job);
  bundle.run_for(seconds{1});
  ASSERT_THAT(bundle.delayed(), SizeIs(1));
  bundle.restart_after(hours{2});
  bundle.run_for(seconds{30});
  const std::size_t expected = GetParam().policy == MisfirePolicy::kSkip ? 0 : 1;
  EXPECT_THAT(bundle.runs(), SizeIs(expected)) << bundle.story("a");
  EXPECT_EQ(missed(bundle, "a"), expected == 0 ? 1 : 0);
  bundle.run_for(hours{3});
  EXPECT_THAT(bundle.runs(), SizeIs(expected + 1)) << bundle.story("a");
}

TEST(Misfire, FireAllKeepsToItsMaximumAndWindow) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel})
    for (const bool by_window : {false, true}) {
      TrackerBundle bundle;
      bundle.add_worker({.threads = 4});
      JobSpec job = job_cron("a", "0 * * * * ?");
      job.overlap = overlap;
      job.misfire.policy = MisfirePolicy::kFireAll;
      if (by_window) {
        job.misfire.window = minutes{12};
      } else {
        job.misfire.max = 7;
      }
      bundle.submit(job);
      bundle.run_to(std::chrono::floor<minutes>(bundle.now()) + minutes{5} + seconds{30});
      bundle.restart_after(minutes{40});
      const WallTime back = bundle.now();
      bundle.run_for(seconds{25});
      std::vector<WallTime> late;
      for (const auto& run : bundle.runs()) {
        if (run.started_wall >= back) late.push_back(run.trigger_time);
      }
      ASSERT_THAT(late, SizeIs(by_window ? 12 : 7)) << "the newest of them";
      EXPECT_GE(*std::min_element(late.begin(), late.end()), back - minutes{13});
      EXPECT_EQ(missed(bundle, "a"), by_window ? 28 : 33);
    }
}

// The tracker dies once more before everything has its outcome.
// The fire came three minutes before there was a job tracker again.
TEST(Misfire, StartsAtTheThresholdOfTheJob) {
  for (const bool is_missed : {false, true}) {
    TrackerBundle bundle;
    bundle.add_worker();
    JobSpec job = job_every("a", hours{1});
    job.schedule.first = bundle.now() + minutes{10};
    job.misfire = {.policy = MisfirePolicy::kSkip,
                   .threshold = is_missed ? minutes{2} : minutes{4}};
    bundle.submit(job);
    bundle.run_for(minutes{1});
    bundle.restart_after(minutes{12});
    bundle.run_for(minutes{1});
    EXPECT_THAT(bundle.runs(), SizeIs(is_missed ? 0 : 1)) << bundle.story("a");
    EXPECT_EQ(missed(bundle, "a"), is_missed ? 1 : 0);
  }
}

TEST_P(AfterDownTime, EveryFireHasOneOutcomeAfterACrashDuringRecovery) {
  constexpr int kJobs = 40;
  for (const int moment : {2, 5, 10, 15, 20, 25, 30, 60, 200}) {
    SCOPED_TRACE(moment);
    TrackerBundle bundle;
    bundle.add_worker({.threads = 4});
    bundle.run_to(std::chrono::floor<minutes>(bundle.now()) + seconds{30});
    std::vector<JobSpec> jobs;
    for (int i = 0; i < kJobs; ++i) {
      jobs.push_back(job_cron("a" + std::to_string(i), "0 * * * * ?"));
      jobs.back().overlap = GetParam().overlap;
      jobs.back().misfire.policy = GetParam().policy;
    }
    bundle.submit(jobs);
    bundle.run_for(minutes{2});
    ASSERT_THAT(bundle.runs(), SizeIs(2 * kJobs));
    bundle.restart_after(minutes{13});
    bundle.run_for(milliseconds{moment});
    bundle.restart_after(milliseconds{200}, moment % 2 == 0);
    bundle.run_for(minutes{3});
    const std::int64_t expected = GetParam().policy == MisfirePolicy::kFireAll    ? 13
                                  : GetParam().policy == MisfirePolicy::kFireOnce ? 1
                                                                                  : 0;
    for (const JobSpec& job : jobs) {
      std::set<WallTime> fires;
      for (const auto& run : bundle.runs_of(job.task_id)) fires.insert(run.trigger_time);
      ASSERT_EQ(missed(bundle, job.task_id), 13 - expected) << bundle.story(job.task_id);
      ASSERT_EQ(static_cast<std::int64_t>(fires.size()), 2 + expected + 3)
          << bundle.story(job.task_id);
    }
  }
}

TEST_P(AfterDownTime, ShortDowntimeMissesNoFire) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 4});
  JobSpec job = job_every("a", seconds{1});
  job.overlap = GetParam().overlap;
  job.misfire.policy = GetParam().policy;
  bundle.submit(job);
  bundle.run_for(seconds{20});
  bundle.restart_after(seconds{3});
  bundle.run_for(seconds{20});
  EXPECT_EQ(missed(bundle, "a"), 0);
  std::int64_t skipped = 0;
  for (const LogEntry& entry : bundle.log("a")) {
    if (entry.state == LogState::kSkipped) skipped += entry.count;
  }
  const auto runs = bundle.runs_of("a");
  const auto all = (runs.back().trigger_time - runs.front().trigger_time) / seconds{1} + 1;
  EXPECT_EQ(static_cast<std::int64_t>(runs.size()) + skipped, all) << bundle.story("a");
}

// Millions of fires are counted some at a time, so that nobody else waits for that.
TEST(Misfire, LongDowntimeOfASecondlyJobIsCountedInSlices) {
  for (const MisfirePolicy policy : {MisfirePolicy::kFireOnce, MisfirePolicy::kFireAll}) {
    TrackerBundle bundle;
    bundle.add_worker();
    JobSpec job = job_cron("a", "* * * * * ?");
    job.misfire.policy = policy;
    job.misfire.max = 20;
    bundle.submit(job);
    bundle.run_to(std::chrono::floor<seconds>(bundle.now()) + milliseconds{10'500});
    const auto before = static_cast<std::int64_t>(bundle.runs().size());
    bundle.kill_tracker();
    bundle.clock.set_wall(bundle.now() + hours{24 * 3});
    bundle.start_tracker();
    int turns = 0;
    ASSERT_TRUE(bundle.run_until([&] {
      ++turns;
      return missed(bundle, "a") > 0;
    })) << bundle.story("a");
    EXPECT_GE(turns, 3 * 24 * 3600 / 1000);
    bundle.run_for(minutes{2});
    std::set<WallTime> fires;
    for (const auto& run : bundle.runs()) fires.insert(run.trigger_time);
    std::int64_t outcomes = static_cast<std::int64_t>(fires.size()) + missed(bundle, "a");
    std::int64_t late = 0;
    for (const LogEntry& entry : bundle.log("a")) {
      if (entry.state == LogState::kSkipped) outcomes += entry.count;
    }
    for (const WallTime fire : fires) late += fire > *fires.begin() + seconds{before};
    EXPECT_EQ(outcomes, (*fires.rbegin() - *fires.begin()) / seconds{1} + 1);
    EXPECT_GT(late, policy == MisfirePolicy::kFireAll ? 19 : 0);
  }
}

TEST(Misfire, MissedFiresOfAShortIntervalAreCountedWithoutEnumeration) {
  TrackerBundle bundle;
  bundle.add_worker().behaviour = [](const auto&, const auto&) {
    return FakeRun{.time = milliseconds{1}};
  };
  JobSpec job = job_every("a", milliseconds{100});
  job.misfire.policy = MisfirePolicy::kFireAll;
  job.misfire.max = 5;
  bundle.submit(job);
  bundle.run_for(milliseconds{1020});
  bundle.kill_tracker();
  const WallTime last = bundle.runs().back().trigger_time;
  bundle.clock.set_wall(bundle.now() + hours{24 * 365});
  bundle.start_tracker();
  ASSERT_TRUE(bundle.run_until([&] { return missed(bundle, "a") > 0; }, seconds{5}))
      << bundle.story("a");
  const auto log = bundle.log("a");
  const auto entry = std::find_if(
      log.begin(), log.end(), [](const LogEntry& one) { return one.state == LogState::kMissed; });
  EXPECT_EQ(entry->trigger_time, last + milliseconds{100});
  bundle.run_for(seconds{2});
  WallTime first_after = WallTime::max();
  for (const auto& run : bundle.runs()) {
    if (run.trigger_time > last) first_after = std::min(first_after, run.trigger_time);
  }
  EXPECT_EQ(first_after, entry->trigger_time + entry->count * milliseconds{100});
}

TEST(Misfire, RunThroughADowntimeSkipsAllFiresOfItsInterval) {
  TrackerBundle bundle;
  bundle.add_worker().behaviour = [](const auto&, const auto&) {
    return FakeRun{.time = seconds{2}};
  };
  bundle.submit(job_every("a", milliseconds{100}));
  bundle.run_for(seconds{1});
  bundle.kill_tracker();
  bundle.clock.set_wall(bundle.now() + hours{24 * 365});
  bundle.start_tracker();
  bundle.run_for(seconds{3});
  const auto log = bundle.log("a");
  const auto entry = std::find_if(
      log.begin(), log.end(), [](const LogEntry& one) { return one.state == LogState::kSkipped; });
  ASSERT_NE(entry, log.end());
  const WallTime next = entry->trigger_time + entry->count * milliseconds{100};
  ASSERT_THAT(bundle.runs(), SizeIs(2));
  EXPECT_EQ(bundle.runs()[1].trigger_time, next);
}

// The fires up to its end are passed over, as at any time; those after it were missed.
TEST(Misfire, FiresAfterARunThatEndedDuringDowntimeAreMissed) {
  for (const MisfirePolicy policy :
       {MisfirePolicy::kFireOnce, MisfirePolicy::kSkip, MisfirePolicy::kFireAll}) {
    TrackerBundle bundle;
    bool is_first = true;
    bundle.add_worker().behaviour = [&is_first](const auto&, const auto&) {
      const Duration time = is_first ? seconds{210} : seconds{1};
      is_first = false;
      return FakeRun{.time = time};
    };
    JobSpec job = job_cron("a", "0 * * * * ?");
    job.misfire.policy = policy;
    bundle.submit(job);
    bundle.run_to(std::chrono::floor<minutes>(bundle.now()) + minutes{1} + seconds{30});
    bundle.restart_after(minutes{20});
    const WallTime back = bundle.now();
    bundle.run_for(minutes{2} + seconds{10});
    const WallTime first = bundle.runs().front().trigger_time;
    std::int64_t skipped = 0;
    for (const LogEntry& entry : bundle.log("a")) {
      if (entry.state != LogState::kSkipped) continue;
      EXPECT_EQ(entry.trigger_time, first + minutes{1});
      skipped += entry.count;
    }
    EXPECT_EQ(skipped, 3) << bundle.story("a");
    const std::int64_t late = policy == MisfirePolicy::kFireAll    ? 17
                              : policy == MisfirePolicy::kFireOnce ? 1
                                                                   : 0;
    EXPECT_EQ(missed(bundle, "a"), 17 - late) << bundle.story("a");
    std::set<WallTime> fires;
    for (const auto& run : bundle.runs()) fires.insert(run.trigger_time);
    EXPECT_EQ(std::count_if(fires.begin(), fires.end(),
                            [&](WallTime fire) { return fire > first && fire < back; }),
              late)
        << bundle.story("a");
    EXPECT_EQ(static_cast<std::int64_t>(fires.size()), 1 + late + 2) << "it goes on";
  }
}

// As an occurrence would that had waited in the table.
TEST(Misfire, LateFireWithinTheThresholdRunsAfterItsPredecessorEnded) {
  TrackerBundle bundle;
  bool is_first = true;
  bundle.add_worker().behaviour = [&is_first](const auto&, const auto&) {
    return FakeRun{.time = std::exchange(is_first, false) ? seconds{57} : seconds{1}};
  };
  bundle.submit(job_cron("a", "0 * * * * ?"));
  bundle.run_to(std::chrono::floor<minutes>(bundle.now()) + minutes{1} + seconds{55});
  bundle.restart_after(seconds{7});
  bundle.run_for(seconds{20});
  const auto runs = bundle.runs_of("a");
  ASSERT_THAT(runs, SizeIs(2)) << bundle.story("a");
  EXPECT_EQ(runs[1].trigger_time, runs[0].trigger_time + minutes{1});
  EXPECT_THAT(bundle.log("a"), SizeIs(2)) << bundle.story("a");
}

TEST(Misfire, OneTimeJobRunsLateUnlessItsPolicyIsSkip) {
  TrackerBundle bundle;
  bundle.add_worker();
  const WallTime at = bundle.now() + minutes{2};
  JobSpec skips = job_at("skips", at);
  skips.misfire.policy = MisfirePolicy::kSkip;
  JobSpec far = job_at("far", bundle.now() + minutes{30});
  far.misfire.policy = MisfirePolicy::kSkip;
  bundle.submit({job_at("runs", at), skips, far, job_at("far-runs", bundle.now() + minutes{30})});
  bundle.restart_after(hours{1});
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.runs_of("runs"), SizeIs(1));
  EXPECT_THAT(bundle.runs_of("skips"), IsEmpty());
  EXPECT_THAT(bundle.runs_of("far"), IsEmpty());
  EXPECT_THAT(bundle.runs_of("far-runs"), SizeIs(1));
  EXPECT_EQ(missed(bundle, "skips"), 1);
  EXPECT_EQ(missed(bundle, "far"), 1);
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Misfire, OneTimeFireAllJobRunsLateWithinItsWindow) {
  TrackerBundle bundle;
  bundle.add_worker();
  JobSpec old = job_at("old", bundle.now() + minutes{2});
  old.misfire = {.policy = MisfirePolicy::kFireAll, .window = minutes{30}};
  JobSpec young = job_at("young", bundle.now() + minutes{50});
  young.misfire = old.misfire;
  bundle.submit({old, young});
  bundle.restart_after(hours{1});
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.runs_of("old"), IsEmpty());
  EXPECT_EQ(missed(bundle, "old"), 1);
  EXPECT_THAT(bundle.runs_of("young"), SizeIs(1));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Misfire, MissedOneTimeSkipJobEndsWithoutATaskTracker) {
  TrackerBundle bundle;
  const WallTime at = bundle.now() + minutes{2};
  JobSpec near = job_at("near", at);
  near.misfire.policy = MisfirePolicy::kSkip;
  JobSpec far = job_at("far", bundle.now() + minutes{30});
  far.misfire.policy = MisfirePolicy::kSkip;
  bundle.submit({near, far, job_at("runs", at)});
  bundle.restart_after(hours{1});
  bundle.run_for(seconds{2});
  EXPECT_EQ(missed(bundle, "near"), 1);
  EXPECT_EQ(missed(bundle, "far"), 1);
  bundle.restart_after(seconds{1});
  bundle.add_worker();
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_THAT(bundle.runs_of("runs"), SizeIs(1));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Misfire, BacklogBeyondTheLimitWaitsUntilMissedFiresAreCounted) {
  TrackerBundle bundle({.tracker = {.recurrence = {.blocked_max = 3}}});
  JobSpec job = job_every("a", seconds{1});
  job.overlap = Overlap::kParallel;
  job.misfire = {.policy = MisfirePolicy::kFireAll, .max = 1000, .window = hours{1}};
  const WallTime first = bundle.now() + seconds{2};
  job.schedule.first = first;
  bundle.submit(job);
  bundle.add_worker({.threads = 50});
  bundle.run_for(seconds{5});
  // Slow enough for the rows to be read before it is known what was missed.
  bundle.on_connection = [](auto& connection) { connection.work_time = [] { return seconds{1}; }; };
  bundle.restart_after(seconds{60});
  bundle.run_for(minutes{2});
  std::set<WallTime> fires;
  for (const auto& run : bundle.runs_of("a")) fires.insert(run.trigger_time);
  EXPECT_GT(fires.size(), 150U);
  WallTime expected = first;
  for (const WallTime fire : fires) {
    ASSERT_EQ(fire, expected);
    expected += seconds{1};
  }
}

TEST(Misfire, BacklogIsLateButNeverMissed) {
  TrackerBundle bundle;
  JobSpec job = job_cron("a", "0 * * * * ?");
  job.misfire.policy = MisfirePolicy::kSkip;
  job.overlap = Overlap::kParallel;
  bundle.submit(job);
  bundle.run_for(minutes{10});  // No worker is there.
  EXPECT_EQ(missed(bundle, "a"), 0);
  bundle.add_worker();
  bundle.run_for(seconds{20});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(10));
}

// Its rows were read into memory before the transaction that removed them was committed, and stood
// there again after it.
TEST(Misfire, RemovedRowThatIsReadAgainCausesNoSkip) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 4});
  bundle.submit(job_cron("a", "0 * * * * ?"));
  bundle.run_for(minutes{3} + seconds{30});
  bundle.on_connection = [](auto& connection) {
    connection.work_time = [] { return milliseconds{40}; };
  };
  bundle.restart_after(minutes{30});
  bundle.run_for(seconds{10});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(4)) << bundle.story("a");
  for (const LogEntry& entry : bundle.log("a")) EXPECT_NE(entry.state, LogState::kSkipped);
  EXPECT_EQ(missed(bundle, "a"), 29);
}

TEST(Misfire, MissedFixedDelayFireRunsOnceAndTheScheduleContinues) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(job_fixed_delay("a", minutes{1}));
  bundle.run_for(seconds{150});
  ASSERT_THAT(bundle.runs(), SizeIs(3));
  bundle.restart_after(hours{2});
  bundle.run_for(seconds{150});
  EXPECT_THAT(bundle.runs(), SizeIs(6));
}

TEST(Misfire, ScheduleContinuesAfterATriggeredRunWaitedForItsRetry) {
  for (const bool is_delay : {false, true}) {
    SCOPED_TRACE(is_delay);
    TrackerBundle bundle;
    bool fails = false;
    bundle.add_worker().behaviour = [&fails](const auto&, const auto&) {
      return FakeRun{.outcome =
                         fails ? wire::RunOutcome::kException : wire::RunOutcome::kSucceeded};
    };
    JobSpec job = is_delay ? job_fixed_delay("a", seconds{30}) : job_every("a", seconds{30});
    job.misfire.policy = MisfirePolicy::kSkip;
    job.retries = {.max = 5, .base = minutes{3}};
    bundle.submit(job);
    bundle.run_for(seconds{5});
    fails = true;
    bundle.act(wire::Verb::kTrigger, "a");
    bundle.run_for(seconds{1});
    ASSERT_THAT(bundle.runs_of("a"), SizeIs(2));
    fails = false;
    bundle.restart_after(minutes{2});
    bundle.run_for(minutes{5});
    EXPECT_GE(bundle.runs_of("a").size(), 6U) << bundle.story("a");
  }
}

TEST(Misfire, MissedFiresAreCountedWhileATriggeredRunContinues) {
  TrackerBundle bundle;
  bool fails = false;
  bundle.add_worker().behaviour = [&fails](const auto&, const auto&) {
    return FakeRun{.outcome = fails ? wire::RunOutcome::kException : wire::RunOutcome::kSucceeded};
  };
  JobSpec job = job_every("a", seconds{30});
  job.misfire.policy = MisfirePolicy::kSkip;
  job.retries = {.max = 5, .base = minutes{3}};
  bundle.submit(job);
  bundle.run_for(seconds{5});
  fails = true;
  bundle.act(wire::Verb::kTrigger, "a");
  bundle.run_for(seconds{1});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(2));
  bundle.restart_after(minutes{2});
  bundle.run_for(seconds{10});
  EXPECT_EQ(missed(bundle, "a"), 4) << bundle.story("a");
}

TEST(Misfire, CountedScheduleCompletesItsRunsAfterADowntime) {
  for (const MisfirePolicy policy :
       {MisfirePolicy::kFireOnce, MisfirePolicy::kSkip, MisfirePolicy::kFireAll}) {
    SCOPED_TRACE(static_cast<int>(policy));
    TrackerBundle bundle;
    bundle.add_worker({.threads = 1}).behaviour = [](const auto&, const auto&) {
      return FakeRun{.time = seconds{2}};
    };
    JobSpec job = job_every("a", minutes{1});
    job.schedule.count = 6;
    job.misfire.policy = policy;
    bundle.submit(job);
    bundle.run_for(seconds{90});
    ASSERT_THAT(bundle.runs(), SizeIs(2));
    bundle.restart_after(minutes{20});
    bundle.run_for(minutes{20});
    EXPECT_THAT(bundle.runs(), SizeIs(6));
    EXPECT_TRUE(bundle.is_empty());
  }
}

// More runs come due at once than may wait in memory for the one before, and are skipped.
TEST(Misfire, CountedScheduleCompletesWhenCatchUpRunsOverflowTheQueue) {
  for (const int count : {8, 13, 30}) {
    SCOPED_TRACE(count);
    TrackerBundle bundle({.tracker = {.recurrence = {.blocked_max = 3}}});
    bundle.add_worker({.threads = 4}).behaviour = [](const auto&, const auto&) {
      return FakeRun{.time = seconds{2}};
    };
    JobSpec job = job_every("a", minutes{1});
    job.schedule.count = count;
    job.misfire.policy = MisfirePolicy::kFireAll;
    bundle.submit(job);
    bundle.run_for(seconds{90});
    ASSERT_THAT(bundle.runs(), SizeIs(2));
    bundle.restart_after(minutes{11});
    bundle.run_for(hours{1});
    EXPECT_THAT(bundle.runs(), SizeIs(count)) << bundle.story("a");
    EXPECT_TRUE(bundle.is_empty());
  }
}

TEST(Misfire, CountedScheduleCompletesWhenCatchUpRunsExpire) {
  TrackerBundle bundle;
  Duration time = seconds{2};
  bundle.add_worker({.threads = 4}).behaviour = [&time](const auto&, const auto&) {
    return FakeRun{.time = time};
  };
  JobSpec job = job_every("a", minutes{1});
  job.schedule.count = 10;
  job.start_deadline = minutes{7} + seconds{50};
  job.misfire.policy = MisfirePolicy::kFireAll;
  bundle.submit(job);
  bundle.run_for(seconds{90});
  ASSERT_THAT(bundle.runs(), SizeIs(2));
  time = seconds{100};
  bundle.restart_after(minutes{11});
  bundle.run_for(hours{1});
  EXPECT_THAT(bundle.runs(), SizeIs(10)) << bundle.story("a");
  const auto log = states(bundle.log("a"));
  EXPECT_THAT(log, ::testing::Contains(LogState::kExpired));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Misfire, DefinitionThatEndedDuringDowntimeRunsItsLastFire) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(job_cron("a", "0 30 8 21 11 ? 2026"));
  bundle.restart_after(hours{5});
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(1));
  EXPECT_TRUE(bundle.is_empty());
}

// As where the clock was ahead for a while: then some fires have an outcome, and others before them
// have none.
TEST(Misfire, EachStretchOfMissedFiresHasItsOwnRow) {
  TrackerBundle bundle;
  JobSpec job = job_every("a", seconds{10});
  job.overlap = Overlap::kParallel;
  job.misfire.policy = MisfirePolicy::kSkip;
  bundle.submit(job);
  bundle.run_for(seconds{1});
  bundle.kill_tracker();
  auto rows = bundle.waiting("a");
  ASSERT_GE(rows.size(), 40U);
  std::sort(rows.begin(), rows.end(), [](const auto& one, const auto& other) {
    return one.trigger_time < other.trigger_time;
  });
  auto& table = const_cast<MemoryTables&>(bundle.tables()).waiting.at(rows.front().group);
  for (const std::size_t gone : {5, 6, 20}) table.erase(rows[gone].id);
  bundle.restart_after(minutes{5});
  bundle.run_for(seconds{1});
  std::vector<std::int64_t> counts;
  for (const LogEntry& entry : bundle.log("a")) {
    if (entry.state == LogState::kMissed) counts.push_back(entry.count);
  }
  ASSERT_THAT(counts, SizeIs(3)) << bundle.story("a");
  EXPECT_EQ(counts[1], 13);
}

TEST(Misfire, SuspendedDefinitionMissesNoFire) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(job_cron("a", "0 * * * * ?"));
  bundle.run_for(seconds{1});
  bundle.act(wire::Verb::kSuspend, "a");
  bundle.restart_after(hours{1});
  bundle.run_for(minutes{5});
  EXPECT_THAT(bundle.runs(), IsEmpty());
  EXPECT_EQ(missed(bundle, "a"), 0);
  bundle.act(wire::Verb::kResume, "a");
  bundle.run_for(minutes{2});
  EXPECT_THAT(bundle.runs(), SizeIs(2));
}

// All fires were made before; those that were missed do not count, and others take their place.
TEST(Misfire, CountedScheduleReplacesMissedFiresGeneratedAhead) {
  TrackerBundle bundle;
  bundle.add_worker();
  JobSpec job = job_every("counted", seconds{30});
  job.overlap = Overlap::kParallel;
  job.misfire.policy = MisfirePolicy::kSkip;
  job.schedule.count = 5;
  bundle.submit(job);
  bundle.run_for(seconds{40});
  EXPECT_EQ(bundle.definition("counted")->state, DefinitionState::kEnded);
  bundle.restart_after(seconds{70});
  bundle.run_for(minutes{10});
  EXPECT_GE(missed(bundle, "counted"), 1);
  EXPECT_THAT(bundle.runs_of("counted"), SizeIs(5)) << bundle.story("counted");
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Misfire, OneRunReplacesAllMissedRows) {
  TrackerBundle bundle;
  JobSpec often = job_every("a", milliseconds{20});
  often.overlap = Overlap::kParallel;
  bundle.submit(often);
  bundle.run_for(seconds{20});
  const WallTime died = bundle.now();
  bundle.kill_tracker();
  const std::size_t ahead = bundle.waiting("a").size();
  bundle.run_for(minutes{11});
  bundle.start_tracker();
  const WallTime back = bundle.now();
  bundle.run_for(seconds{20});
  std::int64_t recorded = 0;
  for (const LogEntry& entry : bundle.log("a")) {
    if (entry.state == LogState::kMissed) recorded += entry.count;
  }
  FakeWorker& worker = bundle.add_worker({.threads = 200});
  runs_take(worker, milliseconds{1});
  bundle.run_for(minutes{2});
  std::size_t ran = 0;
  for (const auto& run : bundle.runs_of("a")) {
    if (run.trigger_time > died + seconds{2} && run.trigger_time < back - seconds{6}) ++ran;
  }
  EXPECT_LE(ran, 1u) << "of " << ahead << " rows that were there; missed are " << recorded;
}

}  // namespace
}  // namespace carillon::jobtracker
