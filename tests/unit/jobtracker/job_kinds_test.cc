#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// Each kind of job, from its submission to its last run.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::job_at;
using carillon::testing::job_cron;
using carillon::testing::job_every;
using carillon::testing::job_fixed_delay;
using carillon::testing::job_manual;
using carillon::testing::job_now;
using carillon::testing::RunRecord;
using carillon::testing::TrackerBundle;
using carillon::testing::triggers;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(JobKinds, ImmediateJobStartsWithinMillisecondsAndIsLogged) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.run_for(seconds{2});
  const WallTime submitted = bundle.now();
  const auto answer = bundle.submit(job_now("hello"));
  EXPECT_EQ(answer.status, wire::SubmitStatus::kAccepted);
  bundle.run_for(seconds{1});
  ASSERT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_LE(bundle.runs()[0].started_wall - submitted, milliseconds{5});
  const auto log = bundle.log("hello");
  ASSERT_THAT(log, SizeIs(1));
  EXPECT_EQ(log[0].state, LogState::kSucceeded);
  EXPECT_EQ(log[0].attempt, 1);
  EXPECT_EQ(log[0].job_id, answer.job_id);
  EXPECT_EQ(log[0].node, "worker");
  EXPECT_TRUE(bundle.is_empty());
}

TEST(JobKinds, SubmissionIsAnsweredAfterTheCommit) {
  TrackerBundle bundle;
  bundle.run_for(seconds{1});
  bundle.connection().work_time = [] { return milliseconds{300}; };
  const auto sequence = bundle.client.submit({job_now("a")});
  bundle.run_for(milliseconds{250});
  EXPECT_EQ(bundle.client.answer_to(sequence), nullptr);
  EXPECT_THAT(bundle.waiting(), IsEmpty());
  bundle.run_until([&] { return bundle.client.answer_to(sequence) != nullptr; });
  EXPECT_THAT(bundle.waiting(), SizeIs(1));
}

TEST(JobKinds, JobWithoutATaskIdGetsAGeneratedOne) {
  TrackerBundle bundle;
  const auto answer = bundle.submit(job_now(""));
  EXPECT_EQ(answer.task_id, "job-" + std::to_string(answer.job_id.value));
  EXPECT_THAT(bundle.tables().keys, IsEmpty());
}

TEST(JobKinds, AtJobStartsAtItsTimeAndNotBefore) {
  TrackerBundle bundle;
  bundle.add_worker();
  const WallTime at = bundle.now() + minutes{3};
  bundle.submit(job_at("later", at));
  bundle.run_to(at - milliseconds{1});
  EXPECT_THAT(bundle.runs(), IsEmpty());
  bundle.run_for(milliseconds{10});
  ASSERT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_GE(bundle.runs()[0].started_wall, at);
  // The claim was on disk before, so only the way to the worker counts.
  EXPECT_LE(bundle.runs()[0].started_wall, at + milliseconds{1});
}

TEST(JobKinds, AtJobBeyondTheHorizonIsDelayedAndThenPromoted) {
  TrackerBundle bundle;
  bundle.add_worker();
  const WallTime at = bundle.now() + minutes{45};
  bundle.submit(job_at("far", at));
  EXPECT_THAT(bundle.delayed(), SizeIs(1));
  EXPECT_THAT(bundle.waiting(), IsEmpty());
  bundle.run_to(at - minutes{10} - seconds{1});
  EXPECT_THAT(bundle.waiting(), IsEmpty()) << "a row stands ten minutes ahead at the most";
  bundle.run_to(at - seconds{30});
  EXPECT_THAT(bundle.delayed(), IsEmpty());
  EXPECT_THAT(bundle.waiting(), SizeIs(1));
  bundle.run_to(at + seconds{1});
  ASSERT_THAT(bundle.runs(), SizeIs(1));
  EXPECT_LE(bundle.runs()[0].started_wall, at + milliseconds{1});
}

TEST(JobKinds, ThousandsOfDelayedJobsArePromotedInOnePass) {
  TrackerBundle bundle;
  const WallTime at = bundle.now() + minutes{12};
  for (int message = 0; message < 5; ++message) {
    std::vector<JobSpec> jobs;
    for (int i = 0; i < 500; ++i) {
      jobs.push_back(job_at("j" + std::to_string(message * 500 + i), at));
    }
    bundle.submit(std::move(jobs));
  }
  EXPECT_THAT(bundle.delayed(), SizeIs(2500));
  bundle.run_for(minutes{9} + seconds{5});
  EXPECT_THAT(bundle.delayed(), IsEmpty());
  EXPECT_THAT(bundle.waiting(), SizeIs(2500));
}

// A fire each whole hour, of every overlap rule: the first one is a row from the submission on.
TEST(JobKinds, ScheduleAnswersWithItsFirstFireHoweverFarAway) {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
    TrackerBundle bundle;
    bundle.add_worker();
    bundle.run_to(std::chrono::floor<std::chrono::hours>(bundle.now()) + minutes{65});
    const WallTime at = bundle.now() + minutes{55};
    JobSpec job = job_cron("hourly", "0 0 * * * ?");
    job.overlap = overlap;
    const auto answer = bundle.submit(job);
    EXPECT_THAT(bundle.waiting(), IsEmpty()) << "a row stands ten minutes ahead at the most";
    ASSERT_THAT(bundle.delayed(), SizeIs(1));
    EXPECT_EQ(bundle.delayed()[0].id, answer.job_id);
    EXPECT_EQ(bundle.delayed()[0].trigger_time, at);
    const auto rows = bundle.query({.what = "job", .job_id = answer.job_id});
    EXPECT_THAT(rows, SizeIs(1));
    bundle.run_to(at + minutes{61});
    ASSERT_THAT(bundle.runs(), SizeIs(2));
    EXPECT_EQ(bundle.runs()[0].id.job_id, answer.job_id);
    EXPECT_LE(bundle.runs()[1].started_wall, at + minutes{60} + milliseconds{1});
    EXPECT_THAT(bundle.delayed(), SizeIs(overlap == Overlap::kSkip ? 1 : 0));
  }
}

TEST(JobKinds, SuspendRemovesADelayedFireAndResumeRestoresIt) {
  TrackerBundle bundle;
  bundle.add_worker();
  JobSpec job = job_every("far", std::chrono::hours{2});
  job.schedule.first = bundle.now() + std::chrono::hours{1};
  job.schedule.count = 2;
  bundle.submit(job);
  bundle.act(wire::Verb::kSuspend, "far");
  EXPECT_THAT(bundle.delayed(), IsEmpty());
  EXPECT_EQ(bundle.definition("far")->fired, 0);
  bundle.act(wire::Verb::kResume, "far");
  ASSERT_THAT(bundle.delayed(), SizeIs(1));
  EXPECT_EQ(bundle.definition("far")->fired, 1);
  bundle.run_for(std::chrono::hours{6});
  EXPECT_THAT(bundle.runs(), SizeIs(2)) << bundle.story("far");
  EXPECT_TRUE(bundle.is_empty());
}

TEST(JobKinds, ManualJobIsAnsweredWithoutAJobId) {
  TrackerBundle bundle;
  EXPECT_EQ(bundle.submit(job_manual("by hand")).job_id, JobId{});
}

TEST(JobKinds, CronJobFiresAtEachPointOfItsGrid) {
  TrackerBundle bundle;
  bundle.add_worker();
  const auto answer = bundle.submit(job_cron("ticks", "*/10 * * * * ?"));
  EXPECT_EQ(answer.tz, "UTC");
  const WallTime from = std::chrono::floor<minutes>(bundle.now());
  bundle.run_for(minutes{5});
  const auto runs = bundle.runs_of("ticks");
  ASSERT_THAT(runs, SizeIs(30));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const WallTime fire = from + seconds{10 * static_cast<int>(i + 1)};
    EXPECT_EQ(runs[i].trigger_time, fire) << i;
    EXPECT_LE(runs[i].started_wall - fire, milliseconds{5}) << i;
  }
}

TEST(JobKinds, CronJobWithoutAZoneGetsTheJobTrackersZone) {
  TrackerBundle bundle({.tracker = {.submit = {.zone = "Asia/Shanghai"}}});
  JobSpec job = job_cron("nightly", "0 0 2 * * ?");
  job.schedule.tz.clear();
  EXPECT_EQ(bundle.submit(job).tz, "Asia/Shanghai");
  const WallTime fire = bundle.definition("nightly")->next_fire;
  EXPECT_EQ(std::chrono::floor<std::chrono::days>(fire) + std::chrono::hours{18}, fire);
}

TEST(JobKinds, IntervalJobEndsAtItsCountAndFreesTaskId) {
  TrackerBundle bundle;
  bundle.add_worker();
  JobSpec job = job_every("thrice", seconds{1});
  job.schedule.count = 3;
  const WallTime submitted = bundle.now();
  bundle.submit(job);
  bundle.run_for(seconds{20});
  const auto runs = bundle.runs_of("thrice");
  ASSERT_THAT(runs, SizeIs(3));
  EXPECT_LE(runs[0].started_wall - submitted, milliseconds{5});
  EXPECT_EQ(runs[1].trigger_time - runs[0].trigger_time, seconds{1});
  EXPECT_EQ(runs[2].trigger_time - runs[1].trigger_time, seconds{1});
  EXPECT_TRUE(bundle.is_empty());
  EXPECT_EQ(bundle.submit(job).status, wire::SubmitStatus::kAccepted);
}

TEST(JobKinds, IntervalJobStartsAtItsFirstTime) {
  TrackerBundle bundle;
  bundle.add_worker();
  JobSpec job = job_every("grid", seconds{7});
  const WallTime first = bundle.now() + seconds{30};
  job.schedule.first = first;
  bundle.submit(job);
  bundle.run_to(first + seconds{15});
  EXPECT_THAT(triggers(bundle.runs_of("grid")),
              ElementsAre(first, first + seconds{7}, first + seconds{14}));
}

TEST(JobKinds, FixedDelayCountsFromTheEndOfThePreviousRun) {
  TrackerBundle bundle;
  auto& worker = bundle.add_worker();
  runs_take(worker, seconds{4});
  JobSpec job = job_fixed_delay("pause", seconds{10});
  job.schedule.count = 3;
  bundle.submit(job);
  bundle.run_for(minutes{2});
  const auto runs = bundle.runs_of("pause");
  ASSERT_THAT(runs, SizeIs(3));
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const auto gap = runs[i].started - *runs[i - 1].ended;
    EXPECT_GE(gap, seconds{10}) << i;
    EXPECT_LE(gap, seconds{10} + milliseconds{5}) << i;
  }
  EXPECT_TRUE(bundle.is_empty());
}

TEST(JobKinds, ManualJobRunsOnlyWhenTriggered) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(job_manual("deploy"));
  bundle.run_for(minutes{30});
  EXPECT_THAT(bundle.runs(), IsEmpty());
  bundle.act(wire::Verb::kTrigger, "deploy");
  bundle.run_for(seconds{1});
  EXPECT_THAT(bundle.runs_of("deploy"), SizeIs(1));
  EXPECT_NE(bundle.definition("deploy"), nullptr);
}

TEST(JobKinds, FinishedScheduleFreesItsTaskId) {
  TrackerBundle bundle;
  bundle.add_worker();
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
    JobSpec job = job_cron("last-" + std::to_string(static_cast<int>(overlap)),
                           "0 30 8 21 11 ? 2026");  // Half an hour from now, and never again.
    job.overlap = overlap;
    EXPECT_EQ(bundle.submit(job).status, wire::SubmitStatus::kAccepted);
  }
  bundle.run_for(minutes{50});
  EXPECT_THAT(bundle.runs(), SizeIs(3));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(JobKinds, CronWithoutAFutureFireIsRejectedWithTheReason) {
  TrackerBundle bundle;
  const auto answer = bundle.submit(job_cron("never", "0 0 0 30 2 ?"));
  EXPECT_EQ(answer.status, wire::SubmitStatus::kRejected);
  EXPECT_NE(answer.reason, "");
  EXPECT_TRUE(bundle.is_empty());
}

TEST(JobKinds, InvalidJobDoesNotAffectOthersOfItsMessage) {
  TrackerBundle bundle;
  JobSpec bad = job_now("bad");
  bad.priority = 5000;
  const auto submitted = bundle.submit({job_now("a"), bad, job_now("b")});
  ASSERT_THAT(submitted.answers, SizeIs(3));
  EXPECT_EQ(submitted.answers[0].status, wire::SubmitStatus::kAccepted);
  EXPECT_EQ(submitted.answers[1].status, wire::SubmitStatus::kRejected);
  EXPECT_THAT(submitted.answers[1].reason, HasSubstr("priority"));
  EXPECT_EQ(submitted.answers[2].status, wire::SubmitStatus::kAccepted);
  EXPECT_THAT(bundle.waiting(), SizeIs(2));
}

TEST(JobKinds, SchedulesBeyondTheMemoryLimitAreRefusedWithTheReason) {
  TrackerBundle::Options options;
  options.tracker.submit.definition_bytes_max = 12'000;
  TrackerBundle bundle(options);
  JobSpec large = job_manual("large");
  large.payload.assign(8'000, 'x');
  EXPECT_EQ(bundle.submit(large).status, wire::SubmitStatus::kAccepted);
  large.task_id = "another";
  const auto refused = bundle.submit(large);
  EXPECT_EQ(refused.status, wire::SubmitStatus::kRejected);
  EXPECT_THAT(refused.reason, HasSubstr("--definition-memory"));
  JobSpec light = job_manual("light");
  light.payload.assign(500, 'x');
  JobSpec lighter = light;
  lighter.task_id = "lighter";
  const auto both = bundle.submit({light, lighter});
  EXPECT_EQ(both.answers[0].status, wire::SubmitStatus::kAccepted);
  EXPECT_EQ(both.answers[1].status, wire::SubmitStatus::kRejected) << "of one message";
  large.task_id = "large";
  large.replace_on_exist = true;
  EXPECT_EQ(bundle.submit(large).status, wire::SubmitStatus::kAccepted);
  EXPECT_EQ(bundle.submit(job_now("small")).status, wire::SubmitStatus::kAccepted);
  bundle.act(wire::Verb::kCancel, "large");
  large.task_id = "another";
  EXPECT_EQ(bundle.submit(large).status, wire::SubmitStatus::kAccepted);
}

// Operations of one batch are done by kind: the one-shot job would come second.
TEST(JobKinds, FirstOfTwoSameTaskJobsInAMessageWins) {
  TrackerBundle bundle;
  JobSpec replacing = job_manual("a");
  replacing.replace_on_exist = true;
  JobSpec elsewhere = job_manual("a");
  elsewhere.group = "other";
  const auto submitted =
      bundle.submit({job_at("a", bundle.now() + hours{1}), job_manual("a"), replacing, elsewhere});
  ASSERT_THAT(submitted.answers, SizeIs(4));
  EXPECT_EQ(submitted.answers[0].status, wire::SubmitStatus::kAccepted);
  for (const std::size_t second : {1, 2}) {
    EXPECT_EQ(submitted.answers[second].status, wire::SubmitStatus::kDuplicate);
    EXPECT_THAT(submitted.answers[second].reason, HasSubstr("occurs earlier in the same message"));
  }
  EXPECT_EQ(submitted.answers[3].status, wire::SubmitStatus::kAccepted);
}

TEST(JobKinds, TaskIdIsTakenWhileWaitingExecutingOrDefined) {
  TrackerBundle bundle;
  const auto first = bundle.submit(job_now("once"));
  const auto second = bundle.submit(job_now("once"));
  EXPECT_EQ(second.status, wire::SubmitStatus::kDuplicate);
  EXPECT_EQ(second.job_id, first.job_id);
  EXPECT_THAT(second.reason, HasSubstr("'once' is taken"));
  auto& worker = bundle.add_worker();
  runs_take(worker, seconds{10});
  bundle.run_for(seconds{5});
  ASSERT_EQ(worker.busy(), 1);
  EXPECT_EQ(bundle.submit(job_now("once")).status, wire::SubmitStatus::kDuplicate);
  bundle.run_for(seconds{10});
  EXPECT_EQ(bundle.submit(job_every("once", minutes{1})).status, wire::SubmitStatus::kAccepted);
  EXPECT_EQ(bundle.submit(job_now("once")).status, wire::SubmitStatus::kDuplicate);
}

TEST(JobKinds, TaskIdIsTakenWhileItsJobIsSuspended) {
  TrackerBundle bundle;
  bundle.submit(job_at("once", bundle.now() + std::chrono::hours{1}));
  bundle.submit(job_every("again", minutes{1}));
  for (const char* const task : {"once", "again"}) {
    SCOPED_TRACE(task);
    bundle.act(wire::Verb::kSuspend, task);
    EXPECT_EQ(bundle.submit(job_now(task)).status, wire::SubmitStatus::kDuplicate);
    const wire::Message resumed = bundle.act(wire::Verb::kResume, task);
    EXPECT_TRUE(std::holds_alternative<wire::Acted>(resumed));
  }
}

TEST(JobKinds, SameTaskIdInAnotherGroupIsAnotherJob) {
  TrackerBundle bundle;
  JobSpec elsewhere = job_now("once");
  elsewhere.group = "Mail";
  EXPECT_EQ(bundle.submit(job_now("once")).status, wire::SubmitStatus::kAccepted);
  EXPECT_EQ(bundle.submit(elsewhere).status, wire::SubmitStatus::kAccepted);
  elsewhere.group = "mAIL";
  EXPECT_EQ(bundle.submit(elsewhere).status, wire::SubmitStatus::kDuplicate)
      << "groups are the same whatever their case";
  EXPECT_THAT(bundle.tables().groups, SizeIs(2));
}

TEST(JobKinds, MessageWithManyNewGroupsCreatesThemAll) {
  TrackerBundle bundle;
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 20; ++i) {
    jobs.push_back(job_now("job"));
    jobs.back().group = "group-" + std::to_string(i);
  }
  const auto submitted = bundle.submit(jobs);
  std::vector<wire::SubmitStatus> states;
  for (const auto& answer : submitted.answers) states.push_back(answer.status);
  EXPECT_THAT(states, Each(wire::SubmitStatus::kAccepted));
  EXPECT_THAT(submitted.answers[3].warning, HasSubstr("no task tracker of group 'group-3'"));
  EXPECT_THAT(bundle.tables().groups, SizeIs(20));
}

TEST(JobKinds, GroupCreatedByAWorkerCausesNoWarning) {
  TrackerBundle bundle;
  bundle.add_worker({.group = "mail"});
  bundle.run_for(seconds{2});
  JobSpec job = job_now("letter");
  job.group = "mail";
  EXPECT_EQ(bundle.submit(job).warning, "");
}

TEST(JobKinds, GroupKeepsItsFirstSpelling) {
  TrackerBundle bundle;
  bundle.add_worker({.group = "Mail"}).behaviour = [](const auto&, const auto&) {
    return FakeRun{.time = minutes{1}};
  };
  bundle.run_for(seconds{2});
  // The second one is taken.
  for (JobSpec job : {job_now("once"), job_now("once"), job_every("often", minutes{5})}) {
    job.group = "MAIL";
    const auto answer = bundle.submit(job);
    EXPECT_EQ(answer.group, "Mail") << answer.task_id;
  }
  bundle.run_for(seconds{1});
  std::vector<std::string> seen;
  for (const wire::Row& row : bundle.query({.what = "executing"})) {
    for (const auto& [name, value] : row) {
      if (name == "group") seen.push_back(std::get<std::string>(value));
    }
  }
  EXPECT_THAT(seen, ElementsAre("Mail", "Mail"));

  // Nobody knew it when the message came.
  JobSpec first = job_now("a");
  first.group = "Ops";
  JobSpec second = job_now("b");
  second.group = "OPS";
  const auto answers = bundle.submit(std::vector{first, second}).answers;
  EXPECT_EQ(answers[0].group, "Ops");
  EXPECT_EQ(answers[1].group, "Ops");
}

TEST(JobKinds, ReplacingJobTakesTheTaskIdOfAWaitingJob) {
  TrackerBundle bundle;
  bundle.submit(job_at("x", bundle.now() + minutes{5}));
  JobSpec better = job_every("x", minutes{1});
  better.replace_on_exist = true;
  EXPECT_EQ(bundle.submit(better).status, wire::SubmitStatus::kAccepted);
  ASSERT_THAT(bundle.waiting(), SizeIs(1));
  EXPECT_TRUE(bundle.waiting()[0].definition);
  JobSpec last = job_now("x");
  last.replace_on_exist = true;
  EXPECT_EQ(bundle.submit(last).status, wire::SubmitStatus::kAccepted);
  EXPECT_EQ(bundle.definition("x"), nullptr);
  ASSERT_THAT(bundle.waiting(), SizeIs(1));
  EXPECT_FALSE(bundle.waiting()[0].definition);
}

TEST(JobKinds, RunClaimedAheadIsNotSentOnceItsScheduleChanges) {
  TrackerBundle bundle;
  bundle.add_worker();
  JobSpec job = job_every("a", seconds{10});
  job.schedule.first = bundle.now() + seconds{10};
  bundle.submit(job);
  bundle.run_to(*job.schedule.first - milliseconds{20});
  ASSERT_EQ(bundle.tables().executing.size(), 1U);
  job.schedule.first = bundle.now() + minutes{1};
  job.replace_on_exist = true;
  bundle.submit(job);
  bundle.run_for(seconds{5});
  EXPECT_TRUE(bundle.runs_of("a").empty()) << bundle.story("a");
  EXPECT_TRUE(bundle.tables().executing.empty());
  bundle.run_for(minutes{1});
  EXPECT_EQ(bundle.runs_of("a").size(), 1U) << bundle.story("a");
}

}  // namespace
}  // namespace carillon::jobtracker
