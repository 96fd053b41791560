#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// Schedules with a count: it is of runs, and each fire up to the last of them has one outcome.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::job_every;
using carillon::testing::TrackerBundle;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::SizeIs;

JobSpec each_minute(std::int64_t count, Overlap overlap) {
  JobSpec job = job_every("a", minutes{1});
  job.schedule.count = count;
  job.overlap = overlap;
  return job;
}

// By the minutes from the first fire to the last: how it ended.
std::vector<LogState> outcomes(const TrackerBundle& bundle) {
  std::map<WallTime, LogState> all;
  for (const LogEntry& entry : bundle.log("a")) {
    const std::int64_t fires = entry.attempt > 0 ? 1 : entry.count;
    for (std::int64_t i = 0; i < fires; ++i) {
      const WallTime fire = entry.trigger_time + i * minutes{1};
      EXPECT_TRUE(all.emplace(fire, entry.state).second) << "two outcomes";
    }
  }
  std::vector<LogState> states;
  for (const auto& [fire, state] : all) {
    EXPECT_EQ(fire, all.begin()->first + static_cast<int>(states.size()) * minutes{1})
        << "one before it has none";
    states.push_back(state);
  }
  return states;
}

class CountedJob : public ::testing::TestWithParam<Overlap> {};

INSTANTIATE_TEST_SUITE_P(Overlaps, CountedJob,
                         ::testing::Values(Overlap::kSkip, Overlap::kQueue, Overlap::kQueueOne,
                                           Overlap::kCancelRunning, Overlap::kParallel));

std::vector<LogState> missed_then_succeeded(std::size_t missed, std::size_t runs) {
  std::vector<LogState> states(missed, LogState::kMissed);
  states.insert(states.end(), runs, LogState::kSucceeded);
  return states;
}

TEST_P(CountedJob, MissedFiresAreRecordedAndReplacedByLaterOnes) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 4});
  JobSpec job = each_minute(3, GetParam());
  job.schedule.first = bundle.now() + minutes{1};
  job.misfire.policy = MisfirePolicy::kSkip;
  bundle.submit(job);
  bundle.run_for(seconds{5});
  bundle.restart_after(minutes{10});
  bundle.run_for(minutes{10});
  EXPECT_EQ(outcomes(bundle), missed_then_succeeded(10, 3)) << bundle.story("a");
  EXPECT_TRUE(bundle.is_empty());
}

TEST_P(CountedJob, FireOncePolicyRunsTheNewestMissedFire) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 4});
  JobSpec job = each_minute(3, GetParam());
  job.schedule.first = bundle.now() + minutes{1};
  bundle.submit(job);
  bundle.run_for(seconds{5});
  bundle.restart_after(minutes{10});
  bundle.run_for(minutes{10});
  EXPECT_EQ(outcomes(bundle), missed_then_succeeded(9, 3)) << bundle.story("a");
  EXPECT_TRUE(bundle.is_empty());
}

TEST(CountedJob, FireAllPolicyRunsEveryMissedFireInItsWindow) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle bundle;
    bundle.add_worker({.threads = 4});
    JobSpec job = each_minute(5, overlap);
    job.schedule.first = bundle.now() + minutes{1};
    job.misfire = {.policy = MisfirePolicy::kFireAll, .window = minutes{4}};
    bundle.submit(job);
    bundle.run_for(seconds{5});
    bundle.restart_after(minutes{10});
    bundle.run_for(seconds{20});
    EXPECT_EQ(outcomes(bundle), missed_then_succeeded(6, 4)) << bundle.story("a");
    bundle.run_for(minutes{10});
    EXPECT_EQ(outcomes(bundle), missed_then_succeeded(6, 5));
    EXPECT_TRUE(bundle.is_empty());
  }
}

TEST(CountedJob, ScheduleEndsWhenItsMissedFiresCompleteTheCount) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle bundle;
    bundle.add_worker({.threads = 4});
    JobSpec job = each_minute(3, overlap);
    job.schedule.first = bundle.now() + minutes{1};
    const WallTime first = *job.schedule.first;
    job.misfire.policy = MisfirePolicy::kFireAll;
    bundle.submit(job);
    bundle.run_for(seconds{5});
    bundle.restart_after(minutes{10});
    bundle.run_for(minutes{10});
    EXPECT_EQ(outcomes(bundle), missed_then_succeeded(0, 3)) << bundle.story("a");
    EXPECT_EQ(bundle.log("a").front().trigger_time, first);
    EXPECT_TRUE(bundle.is_empty());
  }
}

// However long nobody ran.
TEST(CountedJob, FireAllPolicyEndsTheCountWithTheFirstMisfires) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 4});
  JobSpec job = each_minute(3, Overlap::kParallel);
  job.schedule.first = bundle.now() + minutes{1};
  const WallTime first = *job.schedule.first;
  job.misfire = {.policy = MisfirePolicy::kFireAll, .max = 10};
  bundle.submit(job);
  bundle.run_for(seconds{5});
  bundle.restart_after(minutes{20});
  bundle.run_for(minutes{10});
  EXPECT_EQ(outcomes(bundle), missed_then_succeeded(0, 3)) << bundle.story("a");
  EXPECT_EQ(bundle.log("a").front().trigger_time, first);
  EXPECT_TRUE(bundle.is_empty());
}

TEST(CountedJob, NextFireReplacesAnExpiredFire) {
  TrackerBundle bundle;
  JobSpec job = each_minute(3, Overlap::kParallel);
  job.schedule.first = bundle.now() + minutes{1};
  job.start_deadline = minutes{5};
  bundle.submit(job);
  bundle.run_for(minutes{11} + seconds{30});
  bundle.add_worker({.threads = 4});
  bundle.run_for(minutes{10});
  std::vector<LogState> states(6, LogState::kExpired);
  states.insert(states.end(), 3, LogState::kSucceeded);
  EXPECT_EQ(outcomes(bundle), states) << bundle.story("a");
  EXPECT_TRUE(bundle.is_empty());
}

// Its only run comes too late, so the next fire that was not missed takes its place.
TEST(CountedJob, SkippedFiresHaveOneOutcomeWhenTheJobIsCancelled) {
  TrackerBundle bundle(
      {.tracker = {.recurrence = {.horizon = seconds{20}, .period = seconds{10}}}});
  JobSpec job = each_minute(1, Overlap::kQueue);
  job.schedule.first = bundle.now() + minutes{1};
  job.start_deadline = seconds{90};
  bundle.submit(job);
  bundle.run_to(*job.schedule.first + seconds{80});
  bundle.restart_after(seconds{110});
  bundle.run_for(seconds{10});
  bundle.act(wire::Verb::kCancel, "a");
  EXPECT_THAT(outcomes(bundle),
              ElementsAre(LogState::kExpired, LogState::kSkipped, LogState::kSkipped,
                          LogState::kSkipped, LogState::kCancelled))
      << bundle.story("a");
}

}  // namespace
}  // namespace carillon::jobtracker
