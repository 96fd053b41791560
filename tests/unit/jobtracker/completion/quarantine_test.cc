#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// A run that is lost with its worker, again and again.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_every;
using carillon::testing::job_manual;
using carillon::testing::job_now;
using carillon::testing::states;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// One worker after the other takes what is due, and dies of it.
void workers_die_of_it(TrackerBundle& bundle, int workers) {
  for (int i = 0; i < workers; ++i) {
    FakeWorker& worker = bundle.add_worker();
    runs_take(worker, hours{9});
    EXPECT_TRUE(bundle.run_until([&] { return worker.busy() > 0; })) << "worker " << i;
    worker.die();
    bundle.run_for(seconds{5});
  }
}

std::string shown_of(TrackerBundle& bundle, const std::string& task_id, const std::string& field) {
  const auto rows = bundle.query({.what = "show", .group = "default", .task_id = task_id});
  if (rows.size() != 1) return "no row";
  for (const auto& [name, value] : rows.front()) {
    if (name == field && std::holds_alternative<std::string>(value)) {
      return std::get<std::string>(value);
    }
  }
  return {};
}

std::string refusal_of(TrackerBundle& bundle, wire::Act act) {
  act.group = "default";
  const wire::Message answer = bundle.act(std::move(act));
  const auto* refused = std::get_if<wire::ErrorReply>(&answer);
  return refused == nullptr ? "ok" : refused->error.message;
}

TEST(Quarantine, OneShotJobIsQuarantinedAfterThreeConsecutiveLostRuns) {
  TrackerBundle bundle;
  JobSpec job = job_now("a");
  job.start_deadline = minutes{1};
  bundle.submit(job);
  workers_die_of_it(bundle, 2);
  bundle.restart_after(seconds{1});
  workers_die_of_it(bundle, 1);
  EXPECT_EQ(bundle.stat("jobs_quarantined_total"), 1);
  const auto log = bundle.log("a");
  EXPECT_THAT(states(log), ElementsAre(LogState::kLost, LogState::kLost, LogState::kLost));
  EXPECT_FALSE(log.back().final);
  EXPECT_THAT(log.back().message, HasSubstr("in quarantine until it is resumed"));

  bundle.add_worker();
  bundle.run_for(hours{1});
  bundle.restart_after(seconds{1});
  bundle.run_for(hours{1});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(3)) << "nobody is handed it";
  EXPECT_EQ(shown_of(bundle, "a", "state"), "quarantined");
  EXPECT_THAT(shown_of(bundle, "a", "reason"), HasSubstr("3 runs in a row"));
  EXPECT_THAT(refusal_of(bundle, {.verb = wire::Verb::kSuspend, .task_id = "a"}),
              HasSubstr("is in quarantine"));
  EXPECT_THAT(refusal_of(bundle, {.verb = wire::Verb::kTrigger, .task_id = "a", .force = true}),
              HasSubstr("is in quarantine"));

  EXPECT_EQ(refusal_of(bundle, {.verb = wire::Verb::kResume, .task_id = "a"}), "ok");
  bundle.run_for(seconds{5});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(4)) << "it was started in time, once";
  EXPECT_EQ(bundle.log("a").back().state, LogState::kSucceeded);
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Quarantine, DefinitionIsHeldUntilItIsResumed) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle bundle;
    JobSpec job = job_every("a", minutes{10});
    job.overlap = overlap;
    bundle.submit(job);
    workers_die_of_it(bundle, 3);
    EXPECT_EQ(bundle.stat("jobs_quarantined_total"), 1);
    EXPECT_EQ(bundle.definition("a")->state, DefinitionState::kQuarantined);
    EXPECT_THAT(bundle.waiting("a"), SizeIs(0));
    EXPECT_THAT(states(bundle.log("a")), ElementsAre(LogState::kLost, LogState::kLost,
                                                     LogState::kLost, LogState::kCancelled));
    EXPECT_THAT(bundle.log("a").back().message, HasSubstr("in quarantine"));
    EXPECT_TRUE(bundle.log("a").back().final);

    bundle.add_worker();
    bundle.run_for(hours{1});
    bundle.restart_after(hours{1});
    bundle.run_for(hours{1});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(3)) << bundle.story("a");
    EXPECT_THAT(bundle.log("a"), SizeIs(4)) << "while it is held it misses nothing";
    EXPECT_EQ(shown_of(bundle, "a", "state"), "quarantined");
    EXPECT_THAT(shown_of(bundle, "a", "reason"), HasSubstr("in quarantine"));
    EXPECT_EQ(shown_of(bundle, "a", "next_fire"), "");
    EXPECT_THAT(refusal_of(bundle, {.verb = wire::Verb::kSuspend, .task_id = "a"}),
                HasSubstr("is in quarantine"));
    EXPECT_THAT(refusal_of(bundle, {.verb = wire::Verb::kTrigger, .task_id = "a", .force = true}),
                HasSubstr("is in quarantine"));

    EXPECT_EQ(refusal_of(bundle, {.verb = wire::Verb::kResume, .task_id = "a"}), "ok");
    bundle.run_for(minutes{31});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(6)) << bundle.story("a");
  }
}

// Each fire comes before its run is lost for the third time, and with it another run.
TEST(Quarantine, DefinitionIsQuarantinedThoughEachFireSupersedesThePreviousRun) {
  for (const Duration interval : {seconds{2}, seconds{4}, seconds{8}}) {
    SCOPED_TRACE(interval.count());
    TrackerBundle bundle;
    JobSpec job = job_every("a", interval);
    job.overlap = Overlap::kCancelRunning;
    bundle.submit(job);
    workers_die_of_it(bundle, 3);
    EXPECT_EQ(bundle.definition("a")->state, DefinitionState::kQuarantined) << bundle.story("a");
    EXPECT_EQ(bundle.stat("jobs_quarantined_total"), 1);
    FakeWorker& healthy = bundle.add_worker();
    bundle.run_for(minutes{1});
    EXPECT_THAT(healthy.runs(), SizeIs(0)) << bundle.story("a");
    EXPECT_EQ(refusal_of(bundle, {.verb = wire::Verb::kResume, .task_id = "a"}), "ok");
    workers_die_of_it(bundle, 1);
    EXPECT_EQ(bundle.definition("a")->state, DefinitionState::kActive) << bundle.story("a");
  }
}

// What is claimed in the place of a lost run and called off before it is sent has not run.
TEST(Quarantine, ClaimSupersededBeforeStartCountsAsNoLostRun) {
  TrackerBundle bundle;
  JobSpec job = job_every("a", seconds{4});
  job.overlap = Overlap::kCancelRunning;
  job.schedule.count = 6;
  bundle.submit(job);
  FakeWorker& worker = bundle.add_worker();
  runs_take(worker, seconds{5});
  ASSERT_TRUE(bundle.run_until([&] { return worker.busy() > 0; }));
  worker.die();
  bundle.run_for(seconds{14});
  runs_take(bundle.add_worker({.name = "next"}), milliseconds{100});
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(6)) << bundle.story("a");
}

// A claim has the count on disk.
TEST(Quarantine, LossesOfSupersededRunsAreCountedOverRestarts) {
  TrackerBundle bundle;
  JobSpec job = job_every("a", seconds{2});
  job.overlap = Overlap::kCancelRunning;
  bundle.submit(job);
  FakeWorker* worker = &bundle.add_worker();
  for (int death = 1; death <= 3; ++death) {
    runs_take(*worker, hours{9});
    ASSERT_TRUE(bundle.run_until([&] { return worker->busy() > 0; })) << bundle.story("a");
    worker->die();
    worker = &bundle.add_worker({.name = "next"});
    runs_take(*worker, hours{9});
    const auto losses = [&] {
      const auto all = states(bundle.log("a"));
      return std::count(all.begin(), all.end(), LogState::kLost);
    };
    ASSERT_TRUE(bundle.run_until([&] { return losses() == death; })) << bundle.story("a");
    bundle.run_for(milliseconds{50});
    bundle.restart_after(milliseconds{100});
  }
  bundle.run_for(seconds{5});
  EXPECT_EQ(bundle.definition("a")->state, DefinitionState::kQuarantined) << bundle.story("a");
}

// The third loss is on disk, the suspension that follows from it is not.
TEST(Quarantine, DefinitionIsQuarantinedIfACrashFollowsTheThirdLoss) {
  TrackerBundle bundle;
  bundle.submit(job_every("a", minutes{10}));
  workers_die_of_it(bundle, 2);
  FakeWorker& third = bundle.add_worker();
  runs_take(third, hours{9});
  ASSERT_TRUE(bundle.run_until([&] { return third.busy() > 0; }));
  third.die();
  ASSERT_TRUE(bundle.run_until([&] {
    const auto waiting = bundle.waiting("a");
    return !waiting.empty() && waiting.front().lost == 3;
  }));
  ASSERT_EQ(bundle.definition("a")->state, DefinitionState::kActive);
  bundle.kill_tracker();
  FakeWorker& healthy = bundle.add_worker();
  bundle.start_tracker();
  bundle.run_for(minutes{1});
  EXPECT_EQ(bundle.definition("a")->state, DefinitionState::kQuarantined);
  EXPECT_THAT(healthy.runs(), SizeIs(0)) << bundle.story("a");
}

TEST(Quarantine, SuspendedDefinitionIsQuarantinedToo) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kParallel, Overlap::kCancelRunning}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle bundle;
    JobSpec job = job_every("a", minutes{10});
    job.overlap = overlap;
    job.alarm = {"ops@example.com"};
    bundle.submit(job);
    workers_die_of_it(bundle, 2);
    FakeWorker& third = bundle.add_worker();
    runs_take(third, hours{9});
    ASSERT_TRUE(bundle.run_until([&] { return third.busy() > 0; }));
    bundle.act(wire::Verb::kSuspend, "a");
    ASSERT_EQ(bundle.definition("a")->state, DefinitionState::kSuspended);
    third.die();
    bundle.run_for(seconds{20});
    EXPECT_EQ(bundle.definition("a")->state, DefinitionState::kQuarantined) << bundle.story("a");
    EXPECT_EQ(bundle.stat("jobs_quarantined_total"), 1);
    EXPECT_THAT(bundle.log("a").back().message, HasSubstr("in quarantine until it is resumed"));
    EXPECT_THAT(bundle.courier.to("ops@example.com"), SizeIs(1));

    EXPECT_EQ(refusal_of(bundle, {.verb = wire::Verb::kResume, .task_id = "a"}), "ok");
    bundle.add_worker();
    bundle.run_for(minutes{11});
    EXPECT_EQ(bundle.log("a").back().state, LogState::kSucceeded) << bundle.story("a");
  }
}

// What was triggered is not held by a suspension, and waits for its next try.
TEST(Quarantine, TriggeredRunOfASuspendedDefinitionIsQuarantined) {
  TrackerBundle bundle;
  bundle.submit(job_manual("a"));
  bundle.act(wire::Verb::kTrigger, "a");
  bundle.act(wire::Verb::kSuspend, "a");
  workers_die_of_it(bundle, 3);
  EXPECT_EQ(bundle.definition("a")->state, DefinitionState::kQuarantined) << bundle.story("a");
  EXPECT_THAT(bundle.waiting("a"), SizeIs(0));
}

TEST(Quarantine, AnyOtherOutcomeResetsTheCountOfLostRuns) {
  for (const auto outcome : {wire::RunOutcome::kException, wire::RunOutcome::kLater}) {
    SCOPED_TRACE(static_cast<int>(outcome));
    TrackerBundle bundle;
    JobSpec job = job_now("a");
    job.retries = {.max = 5, .base = milliseconds{100}};
    bundle.submit(job);
    workers_die_of_it(bundle, 2);
    FakeWorker& careful = bundle.add_worker();
    careful.behaviour = [outcome](const auto&, const auto&) {
      return FakeRun{.outcome = outcome, .later = minutes{1}};
    };
    ASSERT_TRUE(bundle.run_until([&] { return careful.runs().size() == 1; }));
    careful.leave();
    bundle.run_for(seconds{2});
    workers_die_of_it(bundle, 2);
    bundle.add_worker();
    bundle.run_for(minutes{5});
    EXPECT_EQ(bundle.log("a").back().state, LogState::kSucceeded) << bundle.story("a");
    EXPECT_EQ(bundle.stat("jobs_quarantined_total"), 0);
  }
}

TEST(Quarantine, CancelEndsQuarantine) {
  for (const bool is_defined : {false, true}) {
    SCOPED_TRACE(is_defined);
    TrackerBundle bundle;
    bundle.submit(is_defined ? job_every("a", minutes{10}) : job_now("a"));
    workers_die_of_it(bundle, 3);
    EXPECT_EQ(refusal_of(bundle, {.verb = wire::Verb::kCancel, .task_id = "a"}), "ok");
    EXPECT_TRUE(bundle.is_empty());
    bundle.add_worker();
    EXPECT_EQ(bundle.submit(job_now("a")).status, wire::SubmitStatus::kAccepted);
    bundle.run_for(seconds{5});
    EXPECT_EQ(bundle.log("a").back().state, LogState::kSucceeded);
  }
}

TEST(Quarantine, FinishedScheduleAndManualJobAreHeldUntilResumed) {
  TrackerBundle bundle;
  JobSpec last = job_every("last", minutes{10});
  last.schedule.count = 1;
  bundle.submit(last);
  workers_die_of_it(bundle, 3);
  ASSERT_NE(bundle.definition("last"), nullptr);
  EXPECT_EQ(bundle.definition("last")->state, DefinitionState::kQuarantined);
  EXPECT_EQ(refusal_of(bundle, {.verb = wire::Verb::kResume, .task_id = "last"}), "ok");
  bundle.run_for(seconds{5});
  EXPECT_EQ(bundle.definition("last"), nullptr) << "its only run is over";

  bundle.submit(job_manual("by hand"));
  bundle.act(wire::Verb::kTrigger, "by hand");
  workers_die_of_it(bundle, 3);
  EXPECT_EQ(bundle.definition("by hand")->state, DefinitionState::kQuarantined);
  EXPECT_EQ(refusal_of(bundle, {.verb = wire::Verb::kResume, .task_id = "by hand"}), "ok");
  EXPECT_EQ(bundle.definition("by hand")->state, DefinitionState::kActive);
}

}  // namespace
}  // namespace carillon::jobtracker
