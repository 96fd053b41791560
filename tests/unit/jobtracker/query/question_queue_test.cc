#include "jobtracker/query/question_queue.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::jobtracker {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

// Answers when it is told to.
class SlowQuestions final : public Questions {
 public:
  void ask(Read question, std::function<void(Result<ReadAnswer>)> on_answer) override {
    tasks.push_back(std::get<ListHistory>(question).task_id);
    answers_.push_back(std::move(on_answer));
  }
  void answer_next() {
    const auto next = std::move(answers_.front());
    answers_.erase(answers_.begin());
    next(ReadAnswer{HistoryAnswer{}});
  }
  std::vector<std::string> tasks{};  // of the questions, in their order

 private:
  std::vector<std::function<void(Result<ReadAnswer>)>> answers_{};
};

class Clients final : public ClientLink {
 public:
  bool deliver(const Asker& asker, wire::Message) override {
    answered.push_back(asker.peer);
    return true;
  }
  std::vector<std::string> answered{};
};

TEST(QuestionQueue, DropsWaitingQueriesOfDepartedClients) {
  SlowQuestions store;
  Clients clients;
  SteadyTime now{seconds{100}};
  QuestionQueue line{store, clients, [&now] { return now; }};
  const auto ask = [&](const std::string& peer) {
    const Asker asker{.peer = peer, .correlation = 1};
    if (!line.begin(asker)) return;
    line.read(asker, ListHistory{.task_id = peer},
              [&line, asker](const Result<ReadAnswer>&) { line.answer(asker, wire::Rows{}); });
  };
  for (const char* peer : {"first", "second", "goes", "stays"}) ask(peer);
  now += QuestionQueue::kGone;
  ask("stays");
  now += seconds{1};
  store.answer_next();
  store.answer_next();
  store.answer_next();
  EXPECT_THAT(store.tasks, ElementsAre("first", "second", "stays"));
  EXPECT_THAT(clients.answered, ElementsAre("first", "second", "stays"));
}

}  // namespace
}  // namespace carillon::jobtracker
