#include "jobclient/submit/submit_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"
#include "tests/unit/jobclient/submit/fake_connections.h"

namespace carillon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

JobSpec job(const std::string& task_id, std::size_t payload = 0) {
  JobSpec made;
  made.task_id = task_id;
  made.payload.assign(payload, 'x');
  made.run.handler = "noop";
  return made;
}

// Each of a task of its own.
std::vector<JobSpec> jobs(int count) {
  return std::vector<JobSpec>(static_cast<std::size_t>(count), job(""));
}

// Every job is accepted under its own task id.
wire::Submitted accept(const wire::Submit& submit) {
  wire::Submitted submitted;
  for (const JobSpec& spec : submit.jobs) {
    submitted.answers.push_back(
        {.task_id = spec.task_id, .job_id = JobId{7}, .status = wire::SubmitStatus::kAccepted});
  }
  return submitted;
}

struct SubmitQueueBundle {
  SubmitQueueBundle() {
    requests =
        Requests::open({.trackers = {"tcp://127.0.0.1:1"}}, clock, 1,
                       [this](const std::string& tracker) { return connections.make(tracker); })
            .value();
    connections.connect();
    queue = std::make_unique<SubmitQueue>(*requests, clock);
  }

  void add(std::vector<JobSpec> batch, bool suspended = false) {
    const std::size_t place = answers.size();
    answers.emplace_back();
    const auto done = [this, place](auto answer) { answers[place].emplace(answer); };
    queue->add(std::move(batch), done, {}, suspended);
  }
  // How many jobs each message sent since the last call had.
  std::vector<std::size_t> take_sizes() {
    std::vector<std::size_t> sizes;
    for (auto& sent : connections.take()) {
      sizes.push_back(std::get<wire::Submit>(sent.envelope.message).jobs.size());
      on_the_way.push_back(std::move(sent));
    }
    return sizes;
  }
  void accept_oldest() {
    const auto sent = std::move(on_the_way.front());
    on_the_way.pop_front();
    connections.reply(sent.envelope.correlation,
                      accept(std::get<wire::Submit>(sent.envelope.message)));
  }

  ManualClock clock;
  FakeConnections connections;
  std::deque<FakeConnections::Sent> on_the_way;
  std::vector<std::optional<Result<std::vector<SubmitAnswer>>>> answers;
  std::unique_ptr<Requests> requests;
  std::unique_ptr<SubmitQueue> queue;
};

TEST(SubmitQueue, SplitsManyJobsIntoMessagesOfAThousand) {
  SubmitQueueBundle bundle;
  bundle.add(jobs(2500));
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), ElementsAre(1000, 1000, 500));
}

TEST(SubmitQueue, SplitsLargeJobsIntoMessagesOfThreeMebibytes) {
  SubmitQueueBundle bundle;
  std::vector<JobSpec> large;
  for (int i = 0; i < 5; ++i) large.push_back(job("", 1'000'000));
  bundle.add(std::move(large));
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), ElementsAre(3, 2));
}

TEST(SubmitQueue, ReturnsAnswersInTheOrderOfTheJobs) {
  SubmitQueueBundle bundle;
  std::vector<JobSpec> named;
  for (int i = 0; i < 2500; ++i) named.push_back(job("t" + std::to_string(i)));
  bundle.add(std::move(named));
  bundle.queue->flush();
  bundle.take_sizes();
  std::swap(bundle.on_the_way[0], bundle.on_the_way[2]);
  for (int i = 0; i < 3; ++i) bundle.accept_oldest();
  const auto& answers = bundle.answers[0]->value();
  ASSERT_EQ(answers.size(), 2500u);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_EQ(answers[i].task_id, "t" + std::to_string(i));
  }
}

TEST(SubmitQueue, PutsSingleJobsOfManyCallersIntoOneMessage) {
  SubmitQueueBundle bundle;
  for (int i = 0; i < 50; ++i) bundle.add({job("caller" + std::to_string(i))});
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), ElementsAre(50));
  bundle.accept_oldest();
  for (std::size_t i = 0; i < 50; ++i) {
    ASSERT_EQ(bundle.answers[i]->value().size(), 1u);
    EXPECT_EQ(bundle.answers[i]->value()[0].task_id, "caller" + std::to_string(i));
  }
}

TEST(SubmitQueue, SendsSuspendedAndOtherJobsInSeparateMessages) {
  SubmitQueueBundle bundle;
  for (const bool suspended : {false, true, true, false}) bundle.add(jobs(2), suspended);
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), ElementsAre(2, 4, 2));
  std::vector<bool> suspended;
  for (const auto& sent : bundle.on_the_way) {
    suspended.push_back(std::get<wire::Submit>(sent.envelope.message).suspended);
  }
  EXPECT_THAT(suspended, ElementsAre(false, true, false));
}

TEST(SubmitQueue, BatchesJobsOnlyWhileTheWindowIsFull) {
  SubmitQueueBundle bundle;
  for (int i = 0; i < 30; ++i) {
    bundle.add({job("t" + std::to_string(i))});
    bundle.queue->flush();
  }
  EXPECT_EQ(bundle.take_sizes(), std::vector<std::size_t>(16, 1));
  bundle.accept_oldest();
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), ElementsAre(14));
}

TEST(SubmitQueue, JobsOfOneTaskWaitForThePreviousAnswer) {
  SubmitQueueBundle bundle;
  JobSpec elsewhere = job("a");
  elsewhere.group = "other";
  JobSpec spelled = job("a");
  spelled.group = "DEFAULT";
  bundle.add({job("a"), job("b"), job(""), job(""), elsewhere, spelled, job("c")});
  bundle.add({job("b")});
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), ElementsAre(5));
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), IsEmpty());
  bundle.accept_oldest();
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), ElementsAre(3));
  bundle.accept_oldest();
  EXPECT_EQ(bundle.answers[0]->value().size(), 7u);
  EXPECT_EQ(bundle.answers[1]->value().size(), 1u);
}

TEST(SubmitQueue, RejectsOnlyTheInvalidJobsOfACall) {
  SubmitQueueBundle bundle;
  JobSpec bad = job("bad");
  bad.priority = 1000;
  bundle.add({job("a"), bad, job("b")});
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), ElementsAre(2));
  bundle.accept_oldest();
  const auto& answers = bundle.answers[0]->value();
  EXPECT_EQ(answers[0].status, SubmitStatus::kAccepted);
  EXPECT_EQ(answers[1].status, SubmitStatus::kRejected);
  EXPECT_EQ(answers[1].task_id, "bad");
  EXPECT_THAT(answers[1].reason, HasSubstr("1000"));
  EXPECT_EQ(answers[2].task_id, "b");
}

TEST(SubmitQueue, AnswersAtOnceWhenNoJobIsValid) {
  SubmitQueueBundle bundle;
  JobSpec bad = job("no run");
  bad.run.handler.clear();
  bundle.add({bad});
  ASSERT_TRUE(bundle.answers[0]);
  EXPECT_EQ(bundle.answers[0]->value()[0].status, SubmitStatus::kRejected);
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), IsEmpty());
}

TEST(SubmitQueue, AnswersACallWhoseLastJobsAreInvalid) {
  SubmitQueueBundle bundle;
  std::vector<JobSpec> many = jobs(1000);  // a message full
  JobSpec bad = job("bad");
  bad.priority = 1000;
  many.insert(many.end(), {bad, bad});
  bundle.add(std::move(many));
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), ElementsAre(1000));
  bundle.accept_oldest();
  ASSERT_TRUE(bundle.answers[0]);
  EXPECT_EQ(bundle.answers[0]->value()[999].status, SubmitStatus::kAccepted);
  EXPECT_EQ(bundle.answers[0]->value()[1001].status, SubmitStatus::kRejected);
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), IsEmpty());
}

// How many in a row have which status.
std::vector<std::string> statuses_of(const std::vector<SubmitAnswer>& answers) {
  std::vector<std::string> runs;
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= answers.size(); ++i) {
    if (i < answers.size() && answers[i].status == answers[begin].status) continue;
    runs.push_back(std::to_string(i - begin) + " " + to_string(answers[begin].status));
    begin = i;
  }
  return runs;
}

TEST(SubmitQueue, AnswersEachJobWhenOneOfThreeMessagesFails) {
  SubmitQueueBundle bundle;
  std::vector<JobSpec> named;
  for (int i = 0; i < 2500; ++i) named.push_back(job("t" + std::to_string(i)));
  bundle.add(std::move(named));
  bundle.queue->flush();
  bundle.take_sizes();
  bundle.accept_oldest();
  bundle.connections.reply(bundle.on_the_way[0].envelope.correlation,
                           wire::ErrorReply{{ErrorCode::kInvalidArgument, "too large"}});
  bundle.on_the_way.pop_front();
  EXPECT_FALSE(bundle.answers[0]);
  bundle.accept_oldest();
  ASSERT_TRUE(bundle.answers[0] && bundle.answers[0]->ok());
  const auto& answers = bundle.answers[0]->value();
  EXPECT_THAT(statuses_of(answers), ElementsAre("1000 accepted", "1000 not_taken", "500 accepted"));
  EXPECT_EQ(answers[1000].task_id, "t1000");
  EXPECT_EQ(answers[1000].group, "default");
  EXPECT_EQ(answers[1000].reason, "too large");
  EXPECT_EQ(answers[1000].error, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(answers[2000].error);
}

TEST(SubmitQueue, TellsUnansweredJobsFromJobsThatWereNotSent) {
  SubmitQueueBundle bundle;
  bundle.add(jobs(20'000));
  bundle.add(jobs(1));
  bundle.queue->flush();
  EXPECT_EQ(bundle.take_sizes().size(), 16u);
  bundle.accept_oldest();
  bundle.clock.advance(std::chrono::seconds{30});
  bundle.requests->run_due();
  bundle.connections.take();
  bundle.queue->flush();
  ASSERT_TRUE(bundle.answers[0] && bundle.answers[0]->ok());
  const auto& answers = bundle.answers[0]->value();
  EXPECT_THAT(statuses_of(answers),
              ElementsAre("1000 accepted", "15000 unanswered", "4000 not_taken"));
  EXPECT_EQ(answers[1000].error, ErrorCode::kTimeout);
  EXPECT_EQ(answers[16'000].error, ErrorCode::kUnavailable);
  EXPECT_THAT(answers[16'000].reason, HasSubstr("not sent, because of jobs before it"));
  // The rest of that call is not sent any more, the other call is.
  EXPECT_THAT(bundle.take_sizes(), ElementsAre(1));
}

TEST(SubmitQueue, FailsTheWholeCallWhenAllJobsShareAnError) {
  SubmitQueueBundle bundle;
  bundle.add(jobs(2500));
  JobSpec bad = job("bad");
  bad.priority = 1000;
  bundle.add({job("a"), bad});
  bundle.queue->flush();
  bundle.take_sizes();
  bundle.clock.advance(std::chrono::seconds{30});
  bundle.requests->run_due();
  EXPECT_EQ(bundle.answers[0]->error().code, ErrorCode::kTimeout);
  EXPECT_THAT(statuses_of(bundle.answers[1]->value()), ElementsAre("1 unanswered", "1 rejected"));
}

TEST(SubmitQueue, ReportsUnansweredAndUnsentJobsWhenClosed) {
  SubmitQueueBundle bundle;
  std::vector<JobSpec> many = jobs(16'500);
  many.back().priority = 1000;
  bundle.add(std::move(many));
  bundle.queue->flush();
  bundle.take_sizes();
  bundle.queue->close();
  bundle.requests->close();
  EXPECT_THAT(statuses_of(bundle.answers[0]->value()),
              ElementsAre("16000 unanswered", "499 not_taken", "1 rejected"));
}

TEST(SubmitQueue, RefusesJobsBeyondItsCapacity) {
  SubmitQueueBundle bundle;
  bundle.add(jobs(static_cast<int>(kJobsQueuedMax)));
  bundle.add(jobs(1));
  EXPECT_FALSE(bundle.answers[0]);
  EXPECT_EQ(bundle.answers[1]->error().code, ErrorCode::kLimit);
}

// A call that is taken must have time to be sent and answered, however slow the job tracker is.
TEST(SubmitQueue, RefusesJobsWhileTheOldestHasWaitedTooLong) {
  SubmitQueueBundle bundle;
  bundle.add(jobs(100'000));
  const auto pass = [&bundle](std::chrono::seconds time) {
    bundle.clock.advance(time);
    bundle.queue->flush();
    bundle.take_sizes();
    bundle.accept_oldest();
  };
  bundle.queue->flush();
  for (int i = 0; i < 5; ++i) pass(std::chrono::seconds{2});
  bundle.add(jobs(1));
  EXPECT_FALSE(bundle.answers[1]) << "the first that waits does so for 10 s";
  pass(std::chrono::seconds{1});
  bundle.add(jobs(1));
  ASSERT_TRUE(bundle.answers[2]);
  EXPECT_EQ(bundle.answers[2]->error().code, ErrorCode::kLimit);
  EXPECT_THAT(bundle.answers[2]->error().message,
              HasSubstr("the job tracker accepts them more slowly"));
}

TEST(SubmitQueue, RefusesJobsWhileTheTrackerOnlyAnswersSlowDown) {
  SubmitQueueBundle bundle;
  bundle.add(jobs(17'000));
  bundle.queue->flush();
  bundle.take_sizes();
  bundle.clock.advance(std::chrono::seconds{11});
  bundle.connections.reply(bundle.on_the_way[0].envelope.correlation,
                           wire::ErrorReply{{ErrorCode::kLimit, "slow down"}});
  bundle.add(jobs(1));
  ASSERT_TRUE(bundle.answers[1]);
  EXPECT_EQ(bundle.answers[1]->error().code, ErrorCode::kLimit);
}

// Sent after that, it would have too little time left for its answer.
TEST(SubmitQueue, RefusesCallsThatHaveWaitedHalfTheirTimeout) {
  SubmitQueueBundle bundle;
  for (int i = 0; i < 24; ++i) bundle.add(jobs(1000));
  bundle.queue->flush();
  EXPECT_EQ(bundle.take_sizes().size(), 16u);
  for (int i = 0; i < 5; ++i) {
    bundle.clock.advance(std::chrono::seconds{3});
    bundle.accept_oldest();
    bundle.queue->flush();
  }
  EXPECT_EQ(bundle.take_sizes().size(), 5u);
  EXPECT_FALSE(bundle.answers[21]);
  bundle.clock.advance(std::chrono::milliseconds{1});
  bundle.accept_oldest();
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), IsEmpty());
  EXPECT_FALSE(bundle.answers[20]) << "it was sent";
  for (std::size_t i = 21; i < 24; ++i) {
    ASSERT_TRUE(bundle.answers[i]);
    EXPECT_EQ(bundle.answers[i]->error().code, ErrorCode::kLimit);
  }
  bundle.add(jobs(static_cast<int>(kJobsQueuedMax)));
  EXPECT_FALSE(bundle.answers[24]) << "nothing waits any more";
}

TEST(SubmitQueue, FinishesAStartedCallHoweverLongItWaits) {
  SubmitQueueBundle bundle;
  bundle.add(jobs(18'000));
  bundle.queue->flush();
  EXPECT_EQ(bundle.take_sizes().size(), 16u);
  bundle.accept_oldest();
  bundle.clock.advance(std::chrono::seconds{9});
  bundle.accept_oldest();
  bundle.clock.advance(std::chrono::seconds{7});
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), ElementsAre(1000, 1000));
}

// So that all of it is taken, or nothing.
TEST(SubmitQueue, KeepsACallInOneMessage) {
  SubmitQueueBundle bundle;
  for (const int count : {600, 300, 600, 400, 1}) bundle.add(jobs(count));
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), ElementsAre(900, 1000, 1));
  bundle.add({job("a", 1'000'000), job("b", 1'000'000)});
  bundle.add({job("c", 1'000'000), job("d", 1'000'000)});
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), ElementsAre(2, 2));
}

TEST(SubmitQueue, FillsAMessageWithPartOfAnOversizedCall) {
  SubmitQueueBundle bundle;
  bundle.add(jobs(300));
  bundle.add(jobs(1500));
  bundle.queue->flush();
  EXPECT_THAT(bundle.take_sizes(), ElementsAre(1000, 800));
}

TEST(SubmitQueue, AcceptsJobsWhileTheTrackerDoesNotAnswer) {
  SubmitQueueBundle bundle;
  bundle.add(jobs(17'000));
  bundle.queue->flush();
  bundle.take_sizes();
  bundle.accept_oldest();
  bundle.clock.advance(std::chrono::seconds{11});
  bundle.add(jobs(1));
  EXPECT_FALSE(bundle.answers[1]) << "it may be stored";
}

TEST(SubmitQueue, AcceptsJobsWhileDisconnected) {
  SubmitQueueBundle bundle;
  bundle.add(jobs(17'000));
  bundle.queue->flush();
  bundle.connections.disconnect("gone");
  bundle.clock.advance(std::chrono::seconds{11});
  bundle.add(jobs(1));
  EXPECT_FALSE(bundle.answers[1]);
}

TEST(SubmitQueue, AnswersAnEmptyCallWithAnEmptyList) {
  SubmitQueueBundle bundle;
  bundle.add({});
  EXPECT_THAT(bundle.answers[0]->value(), IsEmpty());
}

TEST(SubmitQueue, ReportsAnAnswerOfTheWrongSizeAsCorrupt) {
  SubmitQueueBundle bundle;
  bundle.add(jobs(2));
  bundle.queue->flush();
  bundle.connections.reply(bundle.connections.take()[0].envelope.correlation,
                           wire::Submitted{.answers = {{.task_id = "t0"}}});
  EXPECT_EQ(bundle.answers[0]->error().code, ErrorCode::kCorrupt);
}

TEST(SubmitQueue, FailsQueuedCallsWhenClosed) {
  SubmitQueueBundle bundle;
  bundle.add(jobs(3));
  bundle.queue->close();
  EXPECT_EQ(bundle.answers[0]->error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace carillon
