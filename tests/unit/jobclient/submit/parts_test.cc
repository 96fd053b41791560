// Requests about a node group that was split.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobclient/submit/requests.h"
#include "jobclient/submit/submit_parts.h"
#include "shared/job/bucket.h"
#include "tests/support/manual_clock.h"
#include "tests/unit/jobclient/submit/fake_connections.h"

namespace carillon {
namespace {

using ::testing::ElementsAre;

// Two job trackers: the first looks after part 0, the second after part 1 of the group "large".
struct SplitGroupBundle {
  static constexpr const char* kHere = "tcp://127.0.0.1:1";
  static constexpr const char* kThere = "tcp://127.0.0.1:2";

  SplitGroupBundle() {
    requests =
        Requests::open({.trackers = {kHere}}, clock, 4711, [this](const std::string& tracker) {
          return connections.make(tracker);
        }).value();
    connections.connect(kHere);
  }

  static int part_of(const std::string& task_id) { return part_of_bucket(bucket_of(task_id), 2); }
  // The first of them that is of that part.
  static std::string task_of(int part, int from = 0) {
    while (part_of("task-" + std::to_string(from)) != part) ++from;
    return "task-" + std::to_string(from);
  }

  void act(const std::string& task_id) {
    requests->ask(wire::Act{.group = "large", .task_id = task_id}, clock.steady_now(),
                  [this](auto answer) { acted += answer.ok() ? 1 : 0; });
  }
  // Answers what was sent, as they would: "SENDER TASK" of each.
  std::vector<std::string> answer_all() {
    std::vector<std::string> seen;
    for (const auto& sent : connections.take()) {
      const auto& act = std::get<wire::Act>(sent.envelope.message);
      seen.push_back(sent.tracker + " " + act.task_id);
      const std::string owner = part_of(act.task_id) == 0 ? kHere : kThere;
      if (sent.tracker == owner) {
        connections.reply(sent, wire::Acted{});
      } else {
        connections.reply(sent, wire::Redirect{.address = owner, .parts = 2});
      }
    }
    requests->run_due();
    return seen;
  }

  ManualClock clock;
  FakeConnections connections;
  std::unique_ptr<Requests> requests;
  int acted = 0;
};

TEST(RequestsForPartitions, GoDirectlyToTheKnownOwner) {
  SplitGroupBundle b;
  const std::string here = SplitGroupBundle::task_of(0);
  const std::string there = SplitGroupBundle::task_of(1);
  b.act(there);
  EXPECT_THAT(b.answer_all(), ElementsAre("tcp://127.0.0.1:1 " + there));
  b.connections.connect(SplitGroupBundle::kThere);
  EXPECT_THAT(b.answer_all(), ElementsAre("tcp://127.0.0.1:2 " + there));
  b.act(there);
  b.act(here);
  EXPECT_THAT(b.answer_all(),
              ElementsAre("tcp://127.0.0.1:2 " + there, "tcp://127.0.0.1:1 " + here));
  EXPECT_EQ(b.acted, 3);
}

class FailingPartition : public ::testing::TestWithParam<bool> {};

TEST_P(FailingPartition, DoesNotAffectTheAnswersOfOtherParts) {
  SplitGroupBundle b;
  std::vector<JobSpec> jobs(2);
  for (int part = 0; part < 2; ++part) {
    jobs[static_cast<std::size_t>(part)].group = "large";
    jobs[static_cast<std::size_t>(part)].task_id = SplitGroupBundle::task_of(part);
  }
  std::optional<Result<wire::Message>> answer;
  b.requests->ask(wire::Submit{.jobs = jobs}, b.clock.steady_now(),
                  [&](auto reply) { answer.emplace(std::move(reply)); });
  b.connections.reply(b.connections.take().at(0), wire::Redirect{.parts = 2});
  const auto parts = b.connections.take();
  ASSERT_EQ(parts.size(), 2U);
  b.connections.reply(parts[0],
                      wire::Submitted{.answers = {{.task_id = jobs[0].task_id,
                                                   .status = wire::SubmitStatus::kAccepted}}});
  EXPECT_FALSE(answer);
  if (GetParam()) {
    b.requests->close();
  } else {
    b.clock.advance(std::chrono::seconds{30});
    b.requests->run_due();
  }
  ASSERT_TRUE(answer && answer->ok());
  const auto& answers = std::get<wire::Submitted>(answer->value()).answers;
  EXPECT_EQ(answers[0].status, wire::SubmitStatus::kAccepted);
  EXPECT_EQ(answers[1].status, kUnansweredPart);
  EXPECT_EQ(answers[1].task_id, jobs[1].task_id);
}

INSTANTIATE_TEST_SUITE_P(ThatIsNotAnsweredOrThatTheClientIsClosedBefore, FailingPartition,
                         ::testing::Bool());

TEST(RequestsForPartitions, SplitASubmissionIntoOneMessagePerPart) {
  const auto send = [](SplitGroupBundle& b, std::optional<Result<wire::Message>>& answer) {
    std::vector<JobSpec> jobs(20);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].group = "large";
      if (i < 18) jobs[i].task_id = "task-" + std::to_string(i);
    }
    b.requests->ask(wire::Submit{.jobs = std::move(jobs)}, b.clock.steady_now(),
                    [&](auto reply) { answer.emplace(std::move(reply)); });
    const auto whole = b.connections.take();
    b.connections.reply(whole.at(0), wire::Redirect{.parts = 2});
    return b.connections.take();
  };
  std::optional<Result<wire::Message>> answer;
  SplitGroupBundle first;
  const auto parts = send(first, answer);
  ASSERT_EQ(parts.size(), 3U) << "and the jobs without a task id";
  std::optional<Result<wire::Message>> other;
  SplitGroupBundle second;
  const auto again = send(second, other);
  std::set<std::int64_t> clients;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& part = std::get<wire::Submit>(parts[i].envelope.message);
    EXPECT_EQ(part.request, std::get<wire::Submit>(again[i].envelope.message).request);
    clients.insert(part.request.client);
    wire::Submitted reply;
    std::set<int> of;
    for (const JobSpec& job : part.jobs) {
      reply.answers.push_back({.task_id = job.task_id});
      of.insert(job.task_id.empty() ? -1 : SplitGroupBundle::part_of(job.task_id));
    }
    EXPECT_EQ(of.size(), 1U);
    first.connections.reply(parts[i], reply);
  }
  EXPECT_EQ(clients.size(), 3U);
  ASSERT_TRUE(answer && answer->ok());
  const auto& answers = std::get<wire::Submitted>(answer->value()).answers;
  ASSERT_EQ(answers.size(), 20U);
  EXPECT_EQ(answers[7].task_id, "task-7");
  EXPECT_EQ(answers[19].task_id, "");
}

}  // namespace
}  // namespace carillon
