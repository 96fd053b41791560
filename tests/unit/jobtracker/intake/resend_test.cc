#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// Numbered requests: a resend is answered as the first time and changes nothing, whatever died
// between the request and its answer.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::job_at;
using carillon::testing::job_cron;
using carillon::testing::job_every;
using carillon::testing::job_manual;
using carillon::testing::job_now;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::Verb;

const wire::Submitted& submitted(const TrackerBundle& bundle, std::int64_t sequence) {
  return std::get<wire::Submitted>(*bundle.client.answer_to(sequence));
}

TEST(Resend, SubmissionGetsTheFirstAnswerEvenAfterTheJobEnded) {
  TrackerBundle bundle;
  bundle.add_worker();
  const auto sequence = bundle.client.submit({job_now("a"), job_now("a"), job_now("")});
  bundle.run_for(seconds{5});
  const wire::Submitted first = submitted(bundle, sequence);
  ASSERT_THAT(bundle.runs(), SizeIs(2));
  bundle.client.send_again(sequence);
  bundle.run_for(seconds{5});
  const wire::Submitted second = submitted(bundle, sequence);
  EXPECT_EQ(bundle.client.answers(), 2U);
  ASSERT_THAT(second.answers, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(second.answers[i].status, first.answers[i].status) << i;
    EXPECT_EQ(second.answers[i].job_id, first.answers[i].job_id) << i;
    EXPECT_EQ(second.answers[i].reason, first.answers[i].reason) << i;
    EXPECT_EQ(second.answers[i].task_id, first.answers[i].task_id) << i;
  }
  EXPECT_THAT(bundle.runs(), SizeIs(2));
}

TEST(Resend, SubmissionThatWouldBeInvalidTodayGetsTheFirstAnswer) {
  TrackerBundle bundle;
  const auto sequence = bundle.client.submit({job_cron("a", "30 0 8 21 11 ? 2026")});
  bundle.run_for(seconds{1});
  ASSERT_EQ(submitted(bundle, sequence).answers[0].status, wire::SubmitStatus::kAccepted);
  const JobId first = submitted(bundle, sequence).answers[0].job_id;
  bundle.run_for(minutes{1});
  bundle.client.send_again(sequence);
  bundle.run_for(seconds{1});
  EXPECT_EQ(submitted(bundle, sequence).answers[0].status, wire::SubmitStatus::kAccepted);
  EXPECT_EQ(submitted(bundle, sequence).answers[0].job_id, first);
}

TEST(Submit, RefusalSaysThatAnExecutingJobIsNeverReplaced) {
  TrackerBundle bundle;
  bundle.add_worker().behaviour = [](const auto&, const auto&) {
    return FakeRun{.time = minutes{5}};
  };
  bundle.submit(job_now("a"));
  bundle.run_for(seconds{1});
  ASSERT_THAT(bundle.tables().executing, SizeIs(1));
  JobSpec job = job_now("a");
  job.replace_on_exist = true;
  EXPECT_EQ(bundle.submit(job).reason,
            "task id 'a' is taken in group 'default' until that job has ended (an executing job "
            "cannot be replaced; cancel it or wait)");
}

TEST(Resend, ReplacingSubmissionDoesNotRemoveItsOwnJob) {
  TrackerBundle bundle;
  for (JobSpec job :
       {job_at("a", bundle.now() + minutes{5}), job_every("b", hours{1}), job_manual("c")}) {
    bundle.submit(job);
    job.replace_on_exist = true;
    const auto sequence = bundle.client.submit({job});
    bundle.run_for(seconds{1});
    const JobId first = submitted(bundle, sequence).answers[0].job_id;
    bundle.client.send_again(sequence);
    bundle.run_for(seconds{1});
    EXPECT_EQ(submitted(bundle, sequence).answers[0].job_id, first);
    EXPECT_EQ(submitted(bundle, sequence).answers[0].status, wire::SubmitStatus::kAccepted);
  }
  EXPECT_THAT(bundle.tables().keys, SizeIs(3)) << "what was accepted is there";
}

TEST(Resend, ActGetsTheFirstAnswer) {
  for (const Verb verb : {Verb::kCancel, Verb::kSuspend, Verb::kTrigger, Verb::kKill}) {
    SCOPED_TRACE(static_cast<int>(verb));
    TrackerBundle bundle;
    auto& worker = bundle.add_worker();
    runs_take(worker, minutes{1});
    bundle.submit(job_manual("a"));
    if (verb == Verb::kKill) bundle.act(Verb::kTrigger, "a");
    bundle.run_for(seconds{1});
    const auto sequence = bundle.client.act({.verb = verb, .group = "default", .task_id = "a"});
    bundle.run_for(seconds{2});
    const auto* first = std::get_if<wire::Acted>(bundle.client.answer_to(sequence));
    ASSERT_NE(first, nullptr);
    const std::string message = first->message;
    const std::size_t answers = bundle.client.answers();
    bundle.client.send_again(sequence);
    bundle.run_for(seconds{2});
    EXPECT_EQ(bundle.client.answers(), answers + 1);
    const auto* second = std::get_if<wire::Acted>(bundle.client.answer_to(sequence));
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(second->message, message);
    EXPECT_LE(bundle.runs().size(), 1U);
  }
}

TEST(Resend, TriggerRunsTheJobOnlyOnce) {
  TrackerBundle bundle;
  bundle.submit(job_at("a", bundle.now() + minutes{5}));
  const auto sequence =
      bundle.client.act({.verb = Verb::kTrigger, .group = "default", .task_id = "a"});
  bundle.run_for(seconds{1});
  bundle.client.send_again(sequence);
  bundle.run_for(seconds{1});
  bundle.add_worker();
  bundle.run_for(seconds{3});
  EXPECT_THAT(bundle.runs(), SizeIs(1));
}

TEST(Resend, RefusedActIsRefusedAgain) {
  TrackerBundle bundle;
  bundle.submit(job_manual("a"));
  const auto sequence =
      bundle.client.act({.verb = Verb::kResume, .group = "default", .task_id = "a"});
  bundle.run_for(seconds{1});
  bundle.act(Verb::kSuspend, "a");
  bundle.client.send_again(sequence);
  bundle.run_for(seconds{1});
  EXPECT_TRUE(std::holds_alternative<wire::ErrorReply>(*bundle.client.answer_to(sequence)));
  EXPECT_EQ(bundle.definition("a")->state, DefinitionState::kSuspended);
}

// The tracker is killed at each of many moments between the request and its answer, with and
// without its COMMIT landing; the client asks again.
class KillDuringReplace : public ::testing::TestWithParam<int> {};

TEST_P(KillDuringReplace, SubmissionIsStoredOnceAndAnswered) {
  for (const bool commit_lands : {false, true}) {
    SCOPED_TRACE(commit_lands);
    TrackerBundle bundle;
    bundle.run_for(seconds{1});
    JobSpec replacing = job_every("b", hours{1});
    replacing.replace_on_exist = true;
    const auto sequence = bundle.client.submit({job_now("a"), replacing, job_now("")});
    bundle.run_for(microseconds{75 * GetParam()});
    bundle.restart_after(milliseconds{300}, commit_lands);
    ASSERT_TRUE(bundle.run_until([&] { return bundle.client.unanswered() == 0; }));
    std::vector<wire::SubmitStatus> status;
    for (const auto& answer : submitted(bundle, sequence).answers) status.push_back(answer.status);
    EXPECT_THAT(status, ::testing::Each(wire::SubmitStatus::kAccepted));
    bundle.add_worker();
    bundle.run_for(seconds{5});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(1));
    EXPECT_THAT(bundle.runs_of("b"), SizeIs(1));
    EXPECT_THAT(bundle.runs(), SizeIs(3));
  }
}

TEST_P(KillDuringReplace, TriggerRunsOnce) {
  for (const bool commit_lands : {false, true}) {
    SCOPED_TRACE(commit_lands);
    TrackerBundle bundle;
    bundle.submit(job_manual("a"));
    const auto sequence =
        bundle.client.act({.verb = Verb::kTrigger, .group = "default", .task_id = "a"});
    bundle.run_for(microseconds{75 * GetParam()});
    bundle.restart_after(milliseconds{300}, commit_lands);
    ASSERT_TRUE(bundle.run_until([&] { return bundle.client.unanswered() == 0; }));
    EXPECT_TRUE(std::holds_alternative<wire::Acted>(*bundle.client.answer_to(sequence)));
    bundle.add_worker();
    bundle.run_for(seconds{5});
    EXPECT_THAT(bundle.runs_of("a"), SizeIs(1));
  }
}

TEST_P(KillDuringReplace, JobRunsOnceAndItsResultIsKept) {
  for (const bool commit_lands : {false, true}) {
    SCOPED_TRACE(commit_lands);
    TrackerBundle bundle;
    auto& worker = bundle.add_worker();
    runs_take(worker, microseconds{500});
    bundle.run_for(seconds{1});
    bundle.client.submit({job_now("a")});
    bundle.run_for(microseconds{150 * GetParam()});
    bundle.restart_after(milliseconds{300}, commit_lands);
    bundle.run_for(seconds{10});
    EXPECT_THAT(bundle.runs(), SizeIs(1)) << "the worker lived";
    ASSERT_FALSE(bundle.log("a").empty());
    EXPECT_EQ(bundle.log("a").back().state, LogState::kSucceeded);
    EXPECT_TRUE(bundle.is_empty());
    EXPECT_EQ(worker.busy(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(AtManyMoments, KillDuringReplace, ::testing::Range(0, 24));

TEST(Resend, RequestResentDuringItsCommitIsAnsweredOnceStored) {
  TrackerBundle bundle;
  bundle.submit(job_manual("a"));
  bundle.connection().away_until = bundle.clock.steady_now() + seconds{5};
  const auto suspend =
      bundle.client.act({.verb = Verb::kSuspend, .group = "default", .task_id = "a"});
  const auto submit = bundle.client.submit({job_now("b")});
  bundle.run_for(seconds{10});
  EXPECT_TRUE(std::holds_alternative<wire::Acted>(*bundle.client.answer_to(suspend)));
  EXPECT_EQ(submitted(bundle, submit).answers[0].status, wire::SubmitStatus::kAccepted);
  EXPECT_THAT(bundle.waiting("b"), SizeIs(1));
  EXPECT_THAT(bundle.log(), IsEmpty());
}

}  // namespace
}  // namespace carillon::jobtracker
