#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

// What client groups are told, and to whom it goes.
namespace carillon::jobtracker {
namespace {

using carillon::testing::FakeRun;
using carillon::testing::FakeWorker;
using carillon::testing::job_every;
using carillon::testing::job_now;
using carillon::testing::states;
using carillon::testing::TrackerBundle;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Results = std::vector<wire::FeedbackEntry>;

JobSpec told(JobSpec job, const std::string& client_group = "billing") {
  job.need_feedback = true;
  job.client_group = client_group;
  return job;
}

// Asks for as much as there is.
std::uint64_t ask_for_feedback(TrackerBundle& bundle, std::int64_t listener,
                               std::vector<std::int64_t> done = {}, bool refused = false,
                               const std::string& client_group = "billing") {
  return bundle.client.fetch_feedback({.client_group = client_group,
                                       .listener = listener,
                                       .done = std::move(done),
                                       .refused = refused,
                                       .limit = 100});
}

// No results: the answer was empty. Nothing: there is none yet.
std::optional<Results> answer_of(TrackerBundle& bundle, std::uint64_t correlation) {
  const auto* answer = bundle.client.answer_to_query(correlation);
  if (answer == nullptr) return std::nullopt;
  return std::get<wire::Feedback>(*answer).results;
}

Results feedback_of(TrackerBundle& bundle, std::int64_t listener,
                    std::vector<std::int64_t> done = {}, bool refused = false,
                    const std::string& client_group = "billing") {
  const auto correlation =
      ask_for_feedback(bundle, listener, std::move(done), refused, client_group);
  EXPECT_TRUE(
      bundle.run_until([&] { return answer_of(bundle, correlation).has_value(); }, seconds{20}));
  return answer_of(bundle, correlation).value_or(Results{});
}

// Says that the listener is there, and what it has done.
void beat_of(TrackerBundle& bundle, std::int64_t listener, std::vector<std::int64_t> done = {}) {
  bundle.client.fetch_feedback(
      {.client_group = "billing", .listener = listener, .done = std::move(done)});
  bundle.run_for(milliseconds{50});
}

std::vector<std::string> tasks_of(const Results& results) {
  std::vector<std::string> all;
  for (const wire::FeedbackEntry& result : results) all.push_back(result.task_id);
  return all;
}

std::vector<std::int64_t> ids_of(const Results& results) {
  std::vector<std::int64_t> all;
  for (const wire::FeedbackEntry& result : results) all.push_back(result.id);
  return all;
}

TEST(FeedbackOfJobs, IsDeliveredOnceInOrderOfJobEnds) {
  TrackerBundle bundle;
  bundle.add_worker({.threads = 4}).behaviour = [](const wire::HandedJob& job, const JobSpec&) {
    if (job.task_id == "slow") return FakeRun{.time = seconds{20}, .message = "at last"};
    if (job.task_id == "fails") {
      return FakeRun{.time = seconds{1}, .outcome = wire::RunOutcome::kFailed};
    }
    return FakeRun{.outcome = job.task_id == "retried" && job.id.attempt == 1
                                  ? wire::RunOutcome::kException
                                  : wire::RunOutcome::kSucceeded};
  };
  JobSpec retried = told(job_now("retried"), "Billing");
  retried.retries = {.max = 1, .base = seconds{5}};
  const auto submitted = bundle.submit({told(job_now("slow")), retried, told(job_now("fails")),
                                        job_now("untold"), told(job_now("another's"), "ops")});
  for (const auto& answer : submitted.answers) EXPECT_EQ(answer.reason, "");
  bundle.run_for(minutes{1});
  bundle.restart_after(seconds{1});
  bundle.run_for(seconds{1});
  EXPECT_EQ(bundle.stat("feedback_waiting"), 4);
  const Results results = feedback_of(bundle, 1);
  ASSERT_THAT(tasks_of(results), ElementsAre("fails", "retried", "slow"));
  EXPECT_EQ(results[0].state, "failed");
  EXPECT_EQ(results[1].attempt, 2);
  EXPECT_EQ(results[2].state, "succeeded");
  EXPECT_EQ(results[2].message, "at last");
  EXPECT_EQ(results[2].node, "worker");
  EXPECT_EQ(results[2].group, "default");
  EXPECT_EQ(results[2].ended_at - results[2].started_at, seconds{20});
  EXPECT_THAT(feedback_of(bundle, 1, ids_of(results)), IsEmpty());
  EXPECT_EQ(bundle.stat("feedback_taken_total"), 3);
  bundle.restart_after(seconds{1});
  bundle.run_for(seconds{1});
  EXPECT_THAT(feedback_of(bundle, 2), IsEmpty());
  EXPECT_THAT(tasks_of(feedback_of(bundle, 3, {}, false, "OPS")), ElementsAre("another's"));
}

TEST(FeedbackOfJobs, IsDeliveredAsSoonAsAJobEnds) {
  TrackerBundle bundle;
  FakeWorker& worker = bundle.add_worker();
  runs_take(worker, seconds{3});
  bundle.run_for(seconds{2});
  bundle.submit(told(job_now("a")));
  const auto correlation = ask_for_feedback(bundle, 1);
  ASSERT_TRUE(bundle.run_until([&] { return worker.busy() == 0 && !worker.runs().empty(); }));
  bundle.run_for(milliseconds{20});
  EXPECT_THAT(tasks_of(answer_of(bundle, correlation).value_or(Results{})), ElementsAre("a"));
}

TEST(FeedbackOfJobs, ThatIsNotAcknowledgedBlocksNoCompletion) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(told(job_now("first")));
  bundle.run_for(seconds{1});
  ASSERT_THAT(feedback_of(bundle, 1), SizeIs(1));
  bundle.submit(told(job_now("second")));
  bundle.run_for(seconds{1});
  EXPECT_TRUE(bundle.is_empty());
  EXPECT_THAT(states(bundle.log("second")), ElementsAre(LogState::kSucceeded));
}

TEST(FeedbackOfJobs, ThatIsRefusedIsRedeliveredLaterWithoutStarvingOthers) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit({told(job_now("a")), told(job_now("b")), told(job_now("other"), "ops")});
  bundle.run_for(seconds{2});
  const Results first = feedback_of(bundle, 1);
  ASSERT_THAT(tasks_of(first), ElementsAre("a", "b"));
  const auto again = ask_for_feedback(bundle, 1, {}, true);
  EXPECT_THAT(tasks_of(feedback_of(bundle, 9, {}, false, "ops")), ElementsAre("other"));
  bundle.run_for(seconds{4});
  EXPECT_EQ(answer_of(bundle, again), std::nullopt) << "not at once";
  bundle.run_for(seconds{2});
  EXPECT_THAT(tasks_of(answer_of(bundle, again).value_or(Results{})), ElementsAre("a", "b"));

  // The next time another one is there, who takes it.
  const auto refuser = ask_for_feedback(bundle, 1, {}, true);
  const auto other = ask_for_feedback(bundle, 2);
  bundle.run_for(seconds{6});
  EXPECT_EQ(answer_of(bundle, refuser), std::nullopt);
  const Results taken = answer_of(bundle, other).value_or(Results{});
  EXPECT_THAT(tasks_of(taken), ElementsAre("a", "b")) << "in order";
  beat_of(bundle, 2, ids_of(taken));
  EXPECT_THAT(bundle.tables().feedback, SizeIs(1)) << "that of ops";
}

TEST(FeedbackOfJobs, IsFetchedOnceThoughTheRequestIsResentEachSecond) {
  for (const bool is_refused : {false, true}) {
    SCOPED_TRACE(is_refused);
    TrackerBundle bundle;
    bundle.add_worker();
    bundle.run_for(seconds{1});
    bundle.submit(told(job_now("a")));
    bundle.run_for(seconds{1});
    EXPECT_THAT(feedback_of(bundle, 1), SizeIs(1));
    const wire::FetchFeedback fetch{.client_group = is_refused ? "billing" : "ops",
                                    .listener = 1,
                                    .refused = is_refused,
                                    .limit = 100};
    const auto correlation = bundle.client.fetch_feedback(fetch);
    for (int i = 0; i < 12; ++i) {
      bundle.run_for(seconds{1});
      if (!answer_of(bundle, correlation)) bundle.client.fetch_again(correlation, fetch);
    }
    ASSERT_TRUE(answer_of(bundle, correlation).has_value());
    EXPECT_THAT(*answer_of(bundle, correlation), SizeIs(is_refused ? 1 : 0));
  }
}

TEST(FeedbackOfJobs, ThatIsPartlyAcknowledgedContinuesWithTheRest) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit({told(job_now("a")), told(job_now("b")), told(job_now("c"))});
  bundle.run_for(seconds{2});
  const Results first = feedback_of(bundle, 1);
  ASSERT_THAT(first, SizeIs(3));
  EXPECT_THAT(tasks_of(feedback_of(bundle, 1, {first[0].id}, true)), ElementsAre("b", "c"));
}

TEST(FeedbackOfJobs, IsHeldByOneListenerUntilItIsSilent) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(told(job_now("a")));
  bundle.run_for(seconds{2});
  ASSERT_THAT(feedback_of(bundle, 1), SizeIs(1));
  for (int i = 0; i < 6; ++i) {
    const auto other = ask_for_feedback(bundle, 2);
    bundle.run_for(seconds{5});
    EXPECT_EQ(answer_of(bundle, other).value_or(Results{}).size(), 0U);
    beat_of(bundle, 1);
  }
  bundle.submit(told(job_now("b")));
  bundle.run_for(seconds{16});
  EXPECT_THAT(tasks_of(feedback_of(bundle, 2)), ElementsAre("a", "b"));
}

TEST(FeedbackOfJobs, PassesToTheNextListenerOnceTheFirstLeaves) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit({told(job_now("a")), told(job_now("b"))});
  bundle.run_for(seconds{2});
  const Results first = feedback_of(bundle, 1);
  ASSERT_THAT(first, SizeIs(2));
  const auto next = ask_for_feedback(bundle, 2);
  bundle.run_for(milliseconds{100});
  EXPECT_FALSE(answer_of(bundle, next));
  beat_of(bundle, 1, {first[0].id});
  bundle.run_for(milliseconds{100});
  EXPECT_THAT(tasks_of(answer_of(bundle, next).value_or(Results{})), ElementsAre("b"));
}

TEST(FeedbackOfJobs, RequestIsAnsweredEmptyAfterAWaitOrListenerEnd) {
  TrackerBundle bundle;
  const WallTime before = bundle.now();
  EXPECT_THAT(feedback_of(bundle, 1), IsEmpty());
  EXPECT_GE(bundle.now() - before, seconds{10});
  const auto open = ask_for_feedback(bundle, 1);
  beat_of(bundle, 1);
  EXPECT_EQ(answer_of(bundle, open).value_or(Results{{}}).size(), 0U);
}

TEST(FeedbackOfJobs, ReportsOneShotJobsThatEndWithoutARun) {
  TrackerBundle bundle;
  JobSpec expires = told(job_now("expires"));
  expires.start_deadline = seconds{10};
  bundle.submit({told(job_now("cancelled")), told(job_now("replaced")), expires});
  bundle.act(wire::Verb::kCancel, "cancelled");
  JobSpec replacing = job_now("replaced");
  replacing.replace_on_exist = true;
  bundle.submit(replacing);
  bundle.run_for(minutes{1});
  std::vector<std::string> states;
  const Results results = feedback_of(bundle, 1);
  for (const auto& result : results) states.push_back(result.state);
  EXPECT_THAT(tasks_of(results), ElementsAre("cancelled", "replaced", "expires"));
  EXPECT_THAT(states, ElementsAre("cancelled", "cancelled", "expired"));
}

TEST(FeedbackOfJobs, ReportsEachRunOfADefinitionButNoSkippedFire) {
  TrackerBundle bundle;
  runs_take(bundle.add_worker(), seconds{25});
  JobSpec job = told(job_every("a", seconds{10}));
  job.schedule.count = 3;
  bundle.submit(job);
  bundle.run_for(minutes{5});
  EXPECT_THAT(feedback_of(bundle, 1), SizeIs(3));
  EXPECT_TRUE(bundle.is_empty());
}

TEST(FeedbackOfJobs, ForAnUnknownClientGroupBlocksNoCompletion) {
  TrackerBundle bundle;
  bundle.add_worker();
  bundle.submit(told(job_now("a"), "never-heard-of"));
  bundle.run_for(seconds{2});
  EXPECT_THAT(bundle.log("a"), SizeIs(1));
  EXPECT_TRUE(bundle.is_empty());
  EXPECT_THAT(feedback_of(bundle, 1, {}, false, "never-heard-of"), SizeIs(1));
}

TEST(FeedbackOfJobs, IsStoredOnceDespiteACrashAroundTheJobsEnd) {
  for (const bool commit_lands : {false, true}) {
    for (int moment = -1000; moment < 3000; moment += 200) {
      SCOPED_TRACE(::testing::Message() << commit_lands << ' ' << moment);
      TrackerBundle bundle;
      FakeWorker& worker = bundle.add_worker();
      runs_take(worker, seconds{1});
      bundle.run_for(seconds{2});
      bundle.submit(told(job_now("a")));
      ASSERT_TRUE(bundle.run_until([&] { return worker.busy() > 0; }));
      bundle.run_for(seconds{1} + Duration{moment});
      bundle.restart_after(milliseconds{100}, commit_lands);
      bundle.run_for(seconds{10});
      EXPECT_THAT(bundle.tables().feedback, SizeIs(1));
    }
  }
}

TEST(FeedbackOfJobs, IsDroppedAfterTheRetentionTime) {
  EXPECT_EQ(FeedbackConfig{}.retention, hours{24 * 30});
  TrackerBundle bundle({.tracker = {.feedback = {.retention = hours{2}}}});
  bundle.add_worker();
  bundle.submit(told(job_now("old")));
  bundle.run_for(minutes{90});
  bundle.submit(told(job_now("new")));
  bundle.run_for(minutes{100});
  EXPECT_EQ(bundle.stat("feedback_dropped_total"), 1);
  EXPECT_THAT(tasks_of(feedback_of(bundle, 1)), ElementsAre("new"));
}

TEST(FeedbackOfJobs, BeyondItsLimitIsDroppedAndNotedInTheHistory) {
  TrackerBundle bundle({.tracker = {.feedback = {.group_max = 2}}});
  bundle.add_worker();
  for (const char* task : {"a", "b", "c"}) {
    bundle.submit(told(job_now(task)));
    bundle.run_for(seconds{2});
  }
  EXPECT_THAT(bundle.tables().feedback, SizeIs(2));
  EXPECT_THAT(bundle.log("c").front().message, HasSubstr("no feedback"));
  EXPECT_EQ(bundle.log("c").front().state, LogState::kSucceeded);
  EXPECT_EQ(bundle.stat("feedback_dropped_total"), 1);
  beat_of(bundle, 1, ids_of(feedback_of(bundle, 1)));
  bundle.submit(told(job_now("d")));
  bundle.run_for(seconds{2});
  EXPECT_THAT(tasks_of(feedback_of(bundle, 1)), ElementsAre("d"));
}

// Two job trackers: one that looks after the client group, and one whose jobs it is to hear of.
struct TwoJobTrackers {
  static constexpr GroupId kGroup{1};
  static Partitions of_group() {
    Partitions owned;
    owned.set(static_cast<std::size_t>(partition_of(kGroup)));
    return owned;
  }

  explicit TwoJobTrackers(FeedbackConfig config)
      : owner({.tracker = {.feedback = config}, .wanted = ~of_group()}),
        other({.tracker = {.feedback = config}, .wanted = of_group(), .beside = &owner}) {
    other.add_worker();
    owner.run_for(seconds{1});
    owner.add_worker({.group = "second"});
    owner.run_for(seconds{1});
  }
  void other_ends(const std::string& task) {
    EXPECT_EQ(other.submit(told(job_now(task))).reason, "");
    owner.run_for(seconds{1});
    EXPECT_THAT(owner.log(task), SizeIs(1));
  }
  void owner_ends(const std::string& task) {
    JobSpec job = told(job_now(task));
    job.group = "second";
    EXPECT_EQ(owner.submit(job).reason, "");
    owner.run_for(seconds{1});
    EXPECT_THAT(owner.log(task), SizeIs(1));
  }

  TrackerBundle owner;
  TrackerBundle other;
};

TEST(FeedbackOfTwoJobTrackers, IsBoundedThoughAnotherJobTrackerOwnsTheClientGroup) {
  TwoJobTrackers two({.group_max = 2});
  for (const char* task : {"a", "b", "c"}) two.other_ends(task);
  EXPECT_THAT(two.owner.tables().feedback, SizeIs(2));
  EXPECT_THAT(two.owner.log("c").front().message, HasSubstr("no feedback"));
  EXPECT_EQ(two.other.stat("feedback_dropped_total"), 1);
  EXPECT_EQ(two.other.stat("feedback_waiting"), 0) << "the owner's are counted once";

  // It comes to know that there is room again.
  beat_of(two.owner, 1, ids_of(feedback_of(two.owner, 1)));
  two.owner.run_for(seconds{11});
  two.other_ends("d");
  EXPECT_THAT(tasks_of(feedback_of(two.owner, 1)), ElementsAre("d"));
}

TEST(FeedbackOfTwoJobTrackers, IsBoundedByTheSumOfBothJobTrackers) {
  TwoJobTrackers two({.group_max = 2});
  two.other_ends("a");
  two.owner_ends("b");
  two.owner.run_for(seconds{11});
  EXPECT_EQ(two.owner.stat("feedback_waiting"), 2);
  two.owner_ends("c");
  two.other_ends("d");
  EXPECT_THAT(two.owner.log("c").front().message, HasSubstr("no feedback"));
  EXPECT_THAT(two.owner.log("d").front().message, HasSubstr("no feedback"));
  EXPECT_THAT(tasks_of(feedback_of(two.owner, 1)), ElementsAre("a", "b"));
}

TEST(FeedbackOfTwoJobTrackers, IsDroppedWhenOldWhicheverJobTrackerStoredIt) {
  TwoJobTrackers two({.retention = hours{2}});
  two.other_ends("old");
  two.owner.run_for(hours{2});
  two.other_ends("new");
  two.owner.run_for(minutes{90});
  EXPECT_EQ(two.owner.stat("feedback_dropped_total"), 1);
  EXPECT_EQ(two.other.stat("feedback_dropped_total"), 0);
  EXPECT_THAT(tasks_of(feedback_of(two.owner, 1)), ElementsAre("new"));
}

TEST(FeedbackOfJobs, RequestWithoutAListenerOrClientGroupIsRefused) {
  TrackerBundle bundle;
  for (const auto& wrong : {wire::FetchFeedback{.listener = 1, .limit = 1},
                            wire::FetchFeedback{.client_group = "billing", .limit = 1}}) {
    const auto correlation = bundle.client.fetch_feedback(wrong);
    bundle.run_for(seconds{1});
    const auto* answer = bundle.client.answer_to_query(correlation);
    ASSERT_NE(answer, nullptr);
    EXPECT_TRUE(std::holds_alternative<wire::ErrorReply>(*answer));
  }
}

}  // namespace
}  // namespace carillon::jobtracker
