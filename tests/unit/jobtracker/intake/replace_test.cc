#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// What a submission takes over from the job that it replaces.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeWorker;
using carillon::testing::job_at;
using carillon::testing::job_cron;
using carillon::testing::job_every;
using carillon::testing::job_fixed_delay;
using carillon::testing::job_manual;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

std::string state_of(TrackerBundle& bundle, const std::string& task_id) {
  for (const auto& row : bundle.query({.what = "show", .group = "default", .task_id = task_id})) {
    for (const auto& [name, value] : row) {
      if (name == "state") return std::get<std::string>(value);
    }
  }
  return "no row";
}

bool is_done(const wire::Message& answer) { return std::holds_alternative<wire::Acted>(answer); }

JobSpec replacing(JobSpec job) {
  job.replace_on_exist = true;
  return job;
}

// Of every kind that fires by itself, within a minute of its resume.
std::vector<JobSpec> replacements(const TrackerBundle& bundle) {
  JobSpec queued = job_every("a", seconds{10});
  queued.overlap = Overlap::kQueue;
  JobSpec parallel = job_every("a", seconds{10});
  parallel.overlap = Overlap::kParallel;
  std::vector<JobSpec> jobs{job_now("a"),
                            job_at("a", bundle.now() + seconds{10}),
                            job_every("a", seconds{10}),
                            job_cron("a", "*/10 * * * * ?"),
                            job_fixed_delay("a", seconds{10}),
                            std::move(queued),
                            std::move(parallel)};
  for (JobSpec& job : jobs) job.replace_on_exist = true;
  return jobs;
}

TEST(Replace, ReplacementOfASuspendedJobIsSuspended) {
  for (const bool is_definition : {true, false}) {
    const std::size_t count = replacements(TrackerBundle{}).size();
    for (std::size_t i = 0; i < count; ++i) {
      SCOPED_TRACE(::testing::Message() << is_definition << ' ' << i);
      TrackerBundle bundle;
      bundle.submit(is_definition ? job_every("a", hours{1})
                                  : job_at("a", bundle.now() + hours{1}));
      ASSERT_TRUE(is_done(bundle.act(wire::Verb::kSuspend, "a")));
      bundle.add_worker();
      bundle.run_for(seconds{2});
      const auto answer = bundle.submit(replacements(bundle)[i]);
      EXPECT_EQ(answer.status, wire::SubmitStatus::kAccepted);
      EXPECT_THAT(answer.warning, HasSubstr("is suspended, like the job that it replaces"));
      EXPECT_EQ(state_of(bundle, "a"), "suspended");
      bundle.run_for(minutes{20});
      bundle.restart_after(seconds{10});
      bundle.run_for(minutes{20});
      EXPECT_THAT(bundle.runs_of("a"), IsEmpty()) << bundle.story("a");

      EXPECT_TRUE(is_done(bundle.act(wire::Verb::kResume, "a")));
      bundle.run_for(minutes{1});
      EXPECT_GE(bundle.runs_of("a").size(), 1U) << bundle.story("a");
    }
  }
}

// Both have looked at the job before either is stored.
TEST(Replace, ConcurrentSuspendOrResumeIsNotLost) {
  for (const bool is_suspended : {true, false}) {
    SCOPED_TRACE(is_suspended);
    TrackerBundle bundle;
    bundle.add_worker();
    const JobSpec job = job_at("a", bundle.now() + hours{1});
    bundle.submit(job);
    const auto act = is_suspended ? wire::Verb::kSuspend : wire::Verb::kResume;
    if (!is_suspended) {
      ASSERT_TRUE(is_done(bundle.act(wire::Verb::kSuspend, "a")));
    }
    bundle.connection().work_time = [] { return std::chrono::milliseconds{10}; };
    const auto acted = bundle.client.act({.verb = act, .group = "default", .task_id = "a"});
    const auto submitted = bundle.client.submit({replacing(job)});
    bundle.run_for(seconds{1});
    ASSERT_NE(bundle.client.answer_to(acted), nullptr);
    EXPECT_TRUE(is_done(*bundle.client.answer_to(acted)));
    ASSERT_NE(bundle.client.answer_to(submitted), nullptr);
    const auto answer =
        std::get<wire::Submitted>(*bundle.client.answer_to(submitted)).answers.at(0);
    EXPECT_EQ(answer.status, wire::SubmitStatus::kDuplicate);
    EXPECT_THAT(answer.reason, HasSubstr("its state has just changed; submit it again"));
    EXPECT_EQ(state_of(bundle, "a"), is_suspended ? "suspended" : "delayed");
    EXPECT_EQ(bundle.submit(replacing(job)).status, wire::SubmitStatus::kAccepted);
  }
}

TEST(Replace, SuspendedJobMayBeReplacedRepeatedlyAndWithoutASchedule) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(job_every("a", seconds{1}));
  ASSERT_TRUE(is_done(bundle.act(wire::Verb::kSuspend, "a")));
  bundle.submit(replacing(job_now("a")));
  bundle.submit(replacing(job_manual("a")));
  EXPECT_EQ(state_of(bundle, "a"), "suspended");
  bundle.submit(replacing(job_every("a", seconds{1})));
  EXPECT_EQ(state_of(bundle, "a"), "suspended");
  EXPECT_TRUE(is_done(bundle.act(wire::Verb::kResume, "a")));
  const auto answer = bundle.submit(replacing(job_every("a", minutes{1})));
  EXPECT_THAT(answer.warning, IsEmpty());
  EXPECT_EQ(state_of(bundle, "a"), "active");
}

TEST(Replace, CountOfASuspendedReplacementStartsWhenItIsResumed) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(job_every("a", minutes{1}));
  ASSERT_TRUE(is_done(bundle.act(wire::Verb::kSuspend, "a")));
  JobSpec counted = replacing(job_every("a", seconds{1}));
  counted.schedule.count = 3;
  bundle.submit(counted);
  bundle.run_for(minutes{1});
  EXPECT_TRUE(is_done(bundle.act(wire::Verb::kResume, "a")));
  const std::size_t before = bundle.runs_of("a").size();
  bundle.run_for(minutes{1});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(before + 3)) << bundle.story("a");
  EXPECT_TRUE(bundle.is_empty());
}

// What killed three workers may kill the next one, whoever submits it again.
TEST(Replace, ReplacementOfAQuarantinedJobIsQuarantined) {
  for (const bool is_definition : {true, false}) {
    SCOPED_TRACE(is_definition);
    TrackerBundle bundle;
    bundle.submit(is_definition ? job_every("a", minutes{10}) : job_now("a"));
    for (int i = 0; i < 3; ++i) {
      FakeWorker& worker = bundle.add_worker();
      runs_take(worker, hours{9});
      ASSERT_TRUE(bundle.run_until([&] { return worker.busy() > 0; }));
      worker.die();
      bundle.run_for(seconds{5});
    }
    ASSERT_EQ(state_of(bundle, "a"), "quarantined");
    bundle.add_worker();
    const auto answer =
        bundle.submit(replacing(is_definition ? job_every("a", seconds{10}) : job_now("a")));
    EXPECT_THAT(answer.warning, HasSubstr("is in quarantine, like the job that it replaces"));
    EXPECT_EQ(state_of(bundle, "a"), "quarantined");
    bundle.run_for(minutes{20});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(3)) << bundle.story("a");
    EXPECT_TRUE(is_done(bundle.act(wire::Verb::kResume, "a")));
    bundle.run_for(minutes{1});
    EXPECT_GE(bundle.runs_of("a").size(), 4U) << bundle.story("a");
  }
}

// ---- a run of the job before goes on ----

TEST(Replace, TriggeredRunQueuesBehindTheReplacedJobsRun) {
  for (const Overlap overlap : {Overlap::kQueue, Overlap::kQueueOne}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    TrackerBundle bundle;
    FakeWorker& worker = bundle.add_worker({.threads = 8});
    runs_take(worker, minutes{1});
    JobSpec job = job_manual("a");
    job.overlap = overlap;
    bundle.submit(job);
    ASSERT_TRUE(is_done(bundle.act(wire::Verb::kTrigger, "a")));
    ASSERT_TRUE(bundle.run_until([&] { return worker.busy() == 1; }));
    for (int i = 0; i < 2; ++i) bundle.submit(replacing(job));
    ASSERT_TRUE(is_done(bundle.act(wire::Verb::kTrigger, "a")));
    bundle.run_for(seconds{50});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(1)) << bundle.story("a");
    bundle.run_for(minutes{2});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(2)) << bundle.story("a");
    EXPECT_EQ(worker.busy_max(), 1);
  }
}

TEST(Replace, ReplacedJobsRunSkipsNewFiresAndRefusesATrigger) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker({.threads = 8});
  runs_take(worker, seconds{25});
  bundle.submit(job_every("a", seconds{10}));
  ASSERT_TRUE(bundle.run_until([&] { return worker.busy() == 1; }));
  bundle.submit(replacing(job_every("a", seconds{10})));
  const auto answer = bundle.act(wire::Verb::kTrigger, "a");
  ASSERT_TRUE(std::holds_alternative<wire::ErrorReply>(answer));
  EXPECT_THAT(std::get<wire::ErrorReply>(answer).error.message, HasSubstr("is already running"));
  bundle.run_for(seconds{20});
  const auto log = bundle.log("a");
  EXPECT_TRUE(std::any_of(log.begin(), log.end(), [](const LogEntry& entry) {
    return entry.state == LogState::kSkipped;
  })) << bundle.story("a");
  bundle.run_for(minutes{2});
  EXPECT_GE(bundle.runs_of("a").size(), 4U) << bundle.story("a");
  EXPECT_EQ(worker.busy_max(), 1);
}

TEST(Replace, KillAndTriggerStopTheReplacedJobsRun) {
  for (const bool is_killed : {true, false}) {
    SCOPED_TRACE(is_killed);
    TrackerBundle bundle;
    FakeWorker& worker = bundle.add_worker({.threads = 8});
    runs_take(worker, hours{1});
    JobSpec job = job_manual("a");
    job.overlap = Overlap::kCancelRunning;
    bundle.submit(job);
    bundle.act(wire::Verb::kTrigger, "a");
    ASSERT_TRUE(bundle.run_until([&] { return worker.busy() == 1; }));
    bundle.submit(replacing(job));
    ASSERT_TRUE(is_done(bundle.act(is_killed ? wire::Verb::kKill : wire::Verb::kTrigger, "a")));
    bundle.run_for(seconds{5});
    EXPECT_TRUE(bundle.runs_of("a").at(0).was_killed) << bundle.story("a");
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(is_killed ? 1 : 2)) << bundle.story("a");
    EXPECT_EQ(worker.busy_max(), 1);
  }
}

TEST(Replace, ReplacedJobsRunSurvivesARestartOfTheJobTracker) {
  for (const bool dies : {true, false}) {
    SCOPED_TRACE(dies);
    TrackerBundle bundle;
    FakeWorker& worker = bundle.add_worker();
    runs_take(worker, minutes{1});
    bundle.submit(job_manual("a"));
    bundle.act(wire::Verb::kTrigger, "a");
    ASSERT_TRUE(bundle.run_until([&] { return worker.busy() == 1; }));
    bundle.submit(replacing(job_manual("a")));
    bundle.run_for(seconds{1});
    if (dies) bundle.restart_after(seconds{2});
    if (!dies) bundle.begin_next_session();
    bundle.run_for(minutes{2});
    EXPECT_FALSE(bundle.runs_of("a").at(0).was_killed) << bundle.story("a");
    EXPECT_EQ(bundle.log("a").back().state, LogState::kSucceeded) << bundle.story("a");
  }
}

TEST(Replace, CancelStopsTheReplacedJobsRun) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker({.threads = 8});
  runs_take(worker, hours{1});
  bundle.submit(job_manual("a"));
  bundle.act(wire::Verb::kTrigger, "a");
  ASSERT_TRUE(bundle.run_until([&] { return worker.busy() == 1; }));
  bundle.submit(replacing(job_manual("a")));
  ASSERT_TRUE(is_done(bundle.act(wire::Verb::kCancel, "a")));
  bundle.run_for(seconds{5});
  EXPECT_EQ(worker.busy(), 0) << bundle.story("a");
  EXPECT_TRUE(bundle.is_empty());
}

// Also when the cancel was told to nobody: its job tracker died with it.
TEST(Replace, CancelStopsRunsThoughTheJobTrackerCrashesAfterIt) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker({.threads = 8});
  runs_take(worker, hours{1});
  bundle.submit(job_manual("a"));
  bundle.act(wire::Verb::kTrigger, "a");
  ASSERT_TRUE(bundle.run_until([&] { return worker.busy() == 1; }));
  worker.cut_off(seconds{1});
  ASSERT_TRUE(is_done(bundle.act(wire::Verb::kCancel, "a")));
  ASSERT_EQ(worker.busy(), 1);
  bundle.restart_after(seconds{1});
  bundle.run_for(seconds{5});
  EXPECT_EQ(worker.busy(), 0) << bundle.story("a");
  EXPECT_TRUE(bundle.is_empty());
}

TEST(Replace, TaskIdFindsARunOfARemovedJob) {
  for (const wire::Verb verb : {wire::Verb::kCancel, wire::Verb::kKill}) {
    SCOPED_TRACE(static_cast<int>(verb));
    TrackerBundle bundle;
    FakeWorker& worker = bundle.add_worker({.threads = 2});
    runs_take(worker, hours{1});
    JobSpec once = job_every("a", minutes{1});
    once.schedule.count = 1;
    bundle.submit(once);
    ASSERT_TRUE(bundle.run_until([&] { return worker.busy() == 1; }));
    runs_take(worker, seconds{1});
    bundle.submit(replacing(job_now("a")));
    bundle.run_for(seconds{5});
    ASSERT_THAT(bundle.runs_of("a"), SizeIs(2));
    ASSERT_EQ(worker.busy(), 1);
    EXPECT_TRUE(is_done(bundle.act(verb, "a")));
    bundle.run_for(seconds{5});
    EXPECT_EQ(worker.busy(), 0) << bundle.story("a");
    EXPECT_FALSE(is_done(bundle.act(verb, "a")));
  }
}

TEST(Replace, ReplacedJobsRunKeepsItsChildJobsAndFeedbackSettings) {
  for (const bool restarts : {false, true}) {
    SCOPED_TRACE(restarts);
    TrackerBundle bundle;
    FakeWorker& worker = bundle.add_worker({.threads = 8});
    runs_take(worker, minutes{1});
    JobSpec job = job_manual("a");
    job.need_feedback = true;
    job.client_group = "billing";
    job.children = {{.task_id = "child"}};
    bundle.submit({job_manual("child"), job});
    bundle.act(wire::Verb::kTrigger, "a");
    ASSERT_TRUE(bundle.run_until([&] { return worker.busy() == 1; }));
    bundle.submit(replacing(job_manual("a")));
    if (restarts) bundle.restart_after(seconds{1});
    bundle.run_for(minutes{3});
    EXPECT_THAT(bundle.runs_of("child"), SizeIs(1)) << bundle.story("a");
    EXPECT_THAT(bundle.tables().feedback, SizeIs(1)) << bundle.story("a");
  }
}

TEST(Replace, RunKeepsItsFeedbackSettingsOverTwoReplacements) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker({.threads = 8});
  runs_take(worker, minutes{1});
  bundle.submit(job_manual("a"));
  bundle.act(wire::Verb::kTrigger, "a");
  ASSERT_TRUE(bundle.run_until([&] { return worker.busy() == 1; }));
  JobSpec second = replacing(job_manual("a"));
  second.need_feedback = true;
  second.client_group = "billing";
  bundle.submit(second);
  bundle.submit(replacing(job_manual("a")));
  bundle.restart_after(seconds{1});
  bundle.run_for(minutes{3});
  EXPECT_EQ(bundle.log("a").back().state, LogState::kSucceeded) << bundle.story("a");
  EXPECT_THAT(bundle.tables().feedback, IsEmpty()) << bundle.story("a");
}

TEST(Replace, ParallelReplacementRunsBesideTheReplacedJobsRun) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker({.threads = 8});
  runs_take(worker, minutes{1});
  bundle.submit(job_manual("a"));
  bundle.act(wire::Verb::kTrigger, "a");
  ASSERT_TRUE(bundle.run_until([&] { return worker.busy() == 1; }));
  JobSpec job = replacing(job_manual("a"));
  job.overlap = Overlap::kParallel;
  bundle.submit(job);
  bundle.act(wire::Verb::kTrigger, "a");
  bundle.run_for(seconds{1});
  EXPECT_EQ(worker.busy(), 2);
}

// Submitted so long before a fire that is claimed by then; the store needs so long for it.
void replaces_before_a_fire(Overlap overlap, Duration before, Duration commit) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker({.threads = 4});
  std::vector<std::pair<WallTime, std::string>> runs;
  worker.behaviour = [&](const wire::HandedJob& job, const JobSpec& spec) {
    runs.emplace_back(job.trigger_time, spec.payload);
    return carillon::testing::FakeRun{};
  };
  JobSpec job = job_every("a", seconds{10});
  job.overlap = overlap;
  job.schedule.first = bundle.now() + seconds{10};
  job.payload = "old";
  bundle.submit(job);
  const WallTime fire = *job.schedule.first + seconds{10};
  bundle.run_to(fire - before);
  job.payload = "new";
  job.schedule.first = fire;
  bundle.connection().work_time = [commit] { return commit; };
  EXPECT_EQ(bundle.submit(replacing(job)).status, wire::SubmitStatus::kAccepted);
  bundle.connection().work_time = [] { return milliseconds{1}; };
  bundle.run_to(fire + seconds{15});
  // It is looked up first: where that takes long, the fire has come by then.
  const bool has_come = 2 * commit >= before;
  EXPECT_THAT(runs, ElementsAre(Pair(fire - seconds{10}, "old"),
                                Pair(fire, AnyOf("new", has_come ? "old" : "new")),
                                Pair(fire + seconds{10}, "new")))
      << bundle.story("a");
}

TEST(Replace, PendingFireRunsOnceAsTheNewJob) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kQueueOne,
                                Overlap::kCancelRunning, Overlap::kParallel}) {
    SCOPED_TRACE(static_cast<int>(overlap));
    for (const int before : {60, 49, 30, 10, 2}) {
      SCOPED_TRACE(before);
      for (const int commit : {1, 9, 25, 70})
        replaces_before_a_fire(overlap, milliseconds{before}, milliseconds{commit});
    }
  }
}

TEST(Replace, QueuedTriggerRunsWhenTheReplacedJobsRunIsLost) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker();
  runs_take(worker, hours{1});
  JobSpec job = job_manual("a");
  job.overlap = Overlap::kQueue;
  bundle.submit(job);
  bundle.act(wire::Verb::kTrigger, "a");
  ASSERT_TRUE(bundle.run_until([&] { return worker.busy() == 1; }));
  bundle.submit(replacing(job));
  bundle.act(wire::Verb::kTrigger, "a");
  bundle.add_worker();
  bundle.run_for(minutes{1});
  ASSERT_THAT(bundle.runs_of("a"), SizeIs(1));
  worker.die();
  bundle.run_for(seconds{10});
  EXPECT_THAT(bundle.runs_of("a"), SizeIs(2)) << bundle.story("a");
}

}  // namespace
}  // namespace carillon::jobtracker
