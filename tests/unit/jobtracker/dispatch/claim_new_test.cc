#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// Jobs that are claimed before they are stored, because a thread is free for them.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeWorker;
using carillon::testing::job_at;
using carillon::testing::job_manual;
using carillon::testing::job_now;
using carillon::testing::RunRecord;
using carillon::testing::states;
using carillon::testing::TrackerBundle;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using wire::SubmitStatus;

struct ClaimNewBundle : TrackerBundle {
  ClaimNewBundle() {
    worker = &add_worker({.threads = 1});
    run_until([this] { return worker->is_registered(); });
    run_for(seconds{1});
    connection().on_commit = [this](const Batch& batch) {
      for (const auto& operation : batch.operations) {
        const bool is_of_a_start = std::holds_alternative<AddJob>(operation) ||
                                   std::holds_alternative<AddExecuting>(operation) ||
                                   std::holds_alternative<Claim>(operation);
        if (is_of_a_start) starts.push_back(operation);
      }
    };
  }
  std::vector<std::string> started() const {
    std::vector<std::string> ids;
    for (const RunRecord& run : runs()) ids.push_back(run.task_id);
    return ids;
  }

  FakeWorker* worker = nullptr;
  std::vector<Operation> starts;
};

TEST(ClaimNew, FreeThreadGetsANewJobAfterOneCommit) {
  ClaimNewBundle bundle;
  EXPECT_EQ(bundle.submit(job_now("a")).status, SubmitStatus::kAccepted);
  bundle.run_for(seconds{1});
  ASSERT_THAT(bundle.starts, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<AddExecuting>(bundle.starts.front()));
  EXPECT_THAT(bundle.started(), ElementsAre("a"));
  EXPECT_THAT(states(bundle.log("a")), ElementsAre(LogState::kSucceeded));
  EXPECT_EQ(bundle.runs().front().id.attempt, 1);
}

TEST(ClaimNew, SuccessTriggersChildJobsAndStoresFeedback) {
  ClaimNewBundle bundle;
  bundle.submit(job_manual("child"));
  JobSpec job = job_now("a");
  job.children = {{.task_id = "child"}};
  job.need_feedback = true;
  job.client_group = "billing";
  bundle.submit(job);
  bundle.run_for(seconds{1});
  ASSERT_FALSE(bundle.starts.empty());
  EXPECT_TRUE(std::holds_alternative<AddExecuting>(bundle.starts.front()));
  EXPECT_THAT(bundle.started(), ElementsAre("a", "child"));
  EXPECT_EQ(bundle.stat("feedback_waiting"), 1);
}

TEST(ClaimNew, LostRunIsCounted) {
  ClaimNewBundle bundle;
  runs_take(*bundle.worker, std::chrono::hours{1});
  bundle.submit(job_now("a"));
  ASSERT_TRUE(bundle.run_until([&] { return bundle.worker->busy() > 0; }));
  bundle.worker->die();
  bundle.run_for(seconds{5});
  ASSERT_THAT(bundle.waiting("a"), SizeIs(1));
  EXPECT_EQ(bundle.waiting("a").front().lost, 1);
}

TEST(ClaimNew, DuplicateTaskIdReleasesTheThread) {
  ClaimNewBundle bundle;
  bundle.submit(job_at("a", bundle.now() + std::chrono::hours{1}));
  EXPECT_EQ(bundle.submit(job_now("a")).status, SubmitStatus::kDuplicate);
  bundle.submit(job_now("b"));
  bundle.run_for(milliseconds{100});
  EXPECT_THAT(bundle.started(), ElementsAre("b"));
}

TEST(ClaimNew, ResentRequestReleasesTheThread) {
  ClaimNewBundle bundle;
  const std::int64_t first = bundle.client.submit({job_now("a")});
  bundle.run_for(seconds{1});
  bundle.client.send_again(first);
  bundle.run_for(milliseconds{100});
  bundle.submit(job_now("b"));
  bundle.run_for(milliseconds{100});
  EXPECT_THAT(bundle.started(), ElementsAre("a", "b"));
}

TEST(ClaimNew, HigherPriorityNewJobPrecedesWaitingJobs) {
  ClaimNewBundle bundle;
  runs_take(*bundle.worker, seconds{1});
  bundle.submit(job_now("busy"));
  bundle.submit(job_now("waits"));
  JobSpec better = job_now("better");
  better.priority = 1;
  bundle.submit(better);
  bundle.run_for(seconds{5});
  EXPECT_THAT(bundle.started(), ElementsAre("busy", "better", "waits"));
}

TEST(ClaimNew, JobsOfOneMessageStartByPriority) {
  ClaimNewBundle bundle;
  JobSpec better = job_now("better");
  better.priority = 1;
  bundle.submit({job_now("other"), better});
  bundle.run_for(seconds{1});
  EXPECT_THAT(bundle.started(), ElementsAre("better", "other"));
}

TEST(ClaimNew, JobForALaterTimeWaits) {
  ClaimNewBundle bundle;
  bundle.submit(job_at("later", bundle.now() + seconds{30}));
  bundle.run_for(seconds{1});
  EXPECT_THAT(bundle.started(), IsEmpty());
  EXPECT_THAT(bundle.waiting("later"), SizeIs(1));
}

TEST(ClaimNew, PastAtJobExpiresAtItsStartDeadline) {
  ClaimNewBundle bundle;
  JobSpec late = job_at("late", bundle.now() - std::chrono::hours{1});
  late.start_deadline = seconds{60};
  bundle.submit(late);
  bundle.run_for(seconds{2});
  EXPECT_THAT(states(bundle.log("late")), ElementsAre(LogState::kExpired));
}

// Whenever in a commit's time they come.
TEST(ClaimNew, EarlierTriggeredRunStartsBeforeANewJob) {
  for (int i = 0; i < 20; ++i) {
    ClaimNewBundle bundle;
    runs_take(*bundle.worker, seconds{10});
    bundle.submit(job_manual("manual"));
    bundle.run_for(seconds{1} + milliseconds{25 * i});
    bundle.connection().work_time = [] { return milliseconds{20}; };
    bundle.client.act({.verb = wire::Verb::kTrigger, .group = "default", .task_id = "manual"});
    bundle.run_for(milliseconds{2});
    bundle.client.submit({job_now("later")});
    bundle.run_for(seconds{30});
    EXPECT_THAT(bundle.started(), ElementsAre("manual", "later"));
  }
}

TEST(ClaimNew, EarlierSubmissionOfATaskIdWins) {
  for (int i = 0; i < 20; ++i) {
    ClaimNewBundle bundle;
    bundle.connection().work_time = [] { return milliseconds{300}; };
    bundle.run_for(seconds{2} + milliseconds{25 * i});
    const auto first = bundle.client.submit({job_now("x")});
    bundle.run_for(milliseconds{2});
    bundle.client.submit({job_now("x")});
    bundle.run_until([&] { return bundle.client.unanswered() == 0; });
    const auto& answer = std::get<wire::Submitted>(*bundle.client.answer_to(first)).answers.at(0);
    EXPECT_EQ(answer.status, SubmitStatus::kAccepted) << answer.reason;
  }
}

}  // namespace
}  // namespace carillon::jobtracker
