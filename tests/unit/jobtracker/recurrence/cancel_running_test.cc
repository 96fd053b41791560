#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// A fire stops the run before it.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::job_every;
using carillon::testing::job_fixed_delay;
using carillon::testing::job_manual;
using carillon::testing::job_now;
using carillon::testing::skipped;
using carillon::testing::states;
using carillon::testing::TrackerBundle;
using carillon::testing::triggers;
using carillon::testing::triggers_once;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(Overlap, CancelRunningStopsTheRunAndStartsTheNext) {
  for (const bool lets_go : {false, true}) {
    SCOPED_TRACE(lets_go);
    TrackerBundle bundle;
    auto& worker = bundle.add_worker({.threads = 8});
    runs_take(worker, hours{1});
    JobSpec job = job_every("a", seconds{10});
    job.overlap = Overlap::kCancelRunning;
    job.retries = {.max = 5, .base = seconds{1}};
    bundle.submit(job);
    bundle.run_for(seconds{15});
    worker.lose_frames(!lets_go);  // It does not hear that it is to stop.
    bundle.run_for(seconds{2});
    worker.lose_frames(false);
    bundle.run_for(seconds{18});
    const auto runs = bundle.runs_of("a");
    ASSERT_THAT(triggers_once(runs), SizeIs(4)) << bundle.story("a");
    EXPECT_EQ(worker.busy_max(), 1);
    EXPECT_TRUE(runs[0].was_killed);
    EXPECT_LT(runs[3].started_wall - runs[3].trigger_time, seconds{1});
    EXPECT_EQ(bundle.log("a").front().state, LogState::kKilled);
    EXPECT_TRUE(bundle.log("a").front().final) << "its retries are void";
  }
}

// Its claim and its cancel are stored together.
TEST(Overlap, CancelRunningFreesTheLastThreadForTheNextFire) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.threads = 1}), milliseconds{2500});
  JobSpec job = job_every("a", seconds{1});
  job.overlap = Overlap::kCancelRunning;
  bundle.submit(job);
  bundle.run_for(seconds{20});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(::testing::Ge(19U))) << bundle.story("a");
  for (const LogEntry& entry : bundle.log("a")) {
    EXPECT_TRUE(entry.state == LogState::kKilled || entry.state == LogState::kCancelled)
        << static_cast<int>(entry.state);
  }
}

// It is generated only later, and so after a restart.
TEST(Overlap, CancelRunningFreesTheLastThreadForLaterGeneratedFires) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker({.threads = 1}), hours{3});
  JobSpec job = job_every("a", hours{1});
  job.overlap = Overlap::kCancelRunning;
  bundle.submit(job);
  bundle.run_for(minutes{30});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(1));
  bundle.run_for(minutes{32});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(2)) << bundle.story("a");
  bundle.restart_after(seconds{1});
  bundle.run_for(hours{1});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(3)) << bundle.story("a");
}

TEST(Overlap, CancelRunningCancelsARunBeingClaimed) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 8});
  JobSpec job = job_every("a", seconds{10});
  job.overlap = Overlap::kCancelRunning;
  bundle.submit(job);
  bundle.run_for(seconds{5});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(1));
  const WallTime first = bundle.runs_of("a")[0].trigger_time;
  bundle.run_to(first + seconds{9});
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{15};
  bundle.client.submit({job_now("under way")});
  bundle.run_to(first + seconds{28});
  EXPECT_THAT(triggers(bundle.runs_of("a")), ElementsAre(first, first + seconds{20}))
      << bundle.story("a");
  EXPECT_THAT(states(bundle.log("a")),
              ElementsAre(LogState::kSucceeded, LogState::kCancelled, LogState::kSucceeded));
}

TEST(Overlap, CancelRunningEndsARunWaitingForItsRetry) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 8}).behaviour = [](const auto&, const auto&) {
    return FakeRun{.outcome = wire::RunOutcome::kException};
  };
  JobSpec job = job_every("a", seconds{10});
  job.overlap = Overlap::kCancelRunning;
  job.retries = {.max = 5, .base = minutes{30}};
  bundle.submit(job);
  bundle.run_for(seconds{35});
  EXPECT_THAT(triggers_once(bundle.runs_of("a")), SizeIs(4)) << bundle.story("a");
  std::int64_t cancelled = 0;
  for (const LogEntry& entry : bundle.log("a")) cancelled += entry.state == LogState::kCancelled;
  EXPECT_EQ(cancelled, 3);
}

TEST(Overlap, CancelRunningContinuesAfterATriggeredRunEndedARetry) {
  TrackerBundle bundle;
  bool fails = true;
  bundle.add_worker().behaviour = [&fails](const auto&, const auto&) {
    return FakeRun{.outcome = fails ? wire::RunOutcome::kException : wire::RunOutcome::kSucceeded};
  };
  JobSpec job = job_fixed_delay("a", seconds{10});
  job.overlap = Overlap::kCancelRunning;
  job.schedule.count = 4;
  job.retries = {.max = 5, .base = minutes{30}};
  bundle.submit(job);
  bundle.run_for(seconds{2});
  fails = false;
  bundle.act(wire::Verb::kTrigger, "a");
  bundle.run_for(minutes{2});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(5)) << "four, and one by hand: " << bundle.story("a");
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Overlap, CancelRunningRunsOnlyTheLatestOfSeveralTriggers) {
  TrackerBundle bundle({.tracker = {.recurrence = {.blocked_max = 1}}});
  auto& worker = bundle.add_worker({.threads = 8});
  runs_take(worker, hours{1});
  JobSpec job = job_manual("a");
  job.overlap = Overlap::kCancelRunning;
  bundle.submit(job);
  for (int i = 0; i < 4; ++i) {
    bundle.act(wire::Verb::kTrigger, "a");
    bundle.run_for(milliseconds{200});
    if (i == 0) worker.freeze(seconds{2});  // It does not hear yet that it is to stop.
  }
  bundle.run_for(seconds{30});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(2)) << bundle.story("a");
  EXPECT_EQ(skipped(bundle, "a"), 2);
  for (const LogEntry& entry : bundle.log("a")) {
    EXPECT_LT(entry.trigger_time, bundle.runs_of("a")[1].trigger_time) << "the last is what runs";
  }
}

TEST(Overlap, CancelRunningContinuesAfterATriggeredRunReplacedAFire) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker({.threads = 8});
  JobSpec job = job_fixed_delay("a", seconds{10});
  job.overlap = Overlap::kCancelRunning;
  job.schedule.count = 4;
  bundle.submit(job);
  ASSERT_TRUE(bundle.run_until([&] { return !bundle.log("a").empty(); }));
  runs_take(worker, hours{1});
  bundle.act(wire::Verb::kTrigger, "a");
  bundle.run_to(bundle.log("a").front().ended_at + milliseconds{9500});
  worker.freeze(seconds{3});
  bundle.run_for(seconds{1});
  bundle.act(wire::Verb::kTrigger, "a");
  bundle.run_for(milliseconds{100});
  EXPECT_EQ(skipped(bundle, "a"), 1) << bundle.story("a");
  runs_take(worker, seconds{1});
  bundle.run_for(minutes{2});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(6)) << "four, and two by hand: " << bundle.story("a");
}

}  // namespace
}  // namespace carillon::jobtracker
