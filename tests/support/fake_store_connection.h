#pragma once

#include <functional>
#include <optional>

#include "jobtracker/store/batcher.h"
#include "jobtracker/store/store.h"
#include "jobtracker/store/store_work_queue.h"
#include "shared/runtime/task_runner.h"

namespace carillon::testing {

// A store thread in virtual time. What it is asked is done in StoreWorkQueue's order, and the
// answer to each comes as a second event, later: between the two the loop goes on, or dies.
//
// As the real one it tries again while the store is away, and settles what is unknown.
//
// Thread: the test's.
class FakeStoreConnection final : public jobtracker::StoreConnection {
 public:
  struct Answers {
    std::function<void(jobtracker::BatchDone)> on_batch{};
    std::function<void(jobtracker::ReadDone)> on_read{};
    std::function<void(bool)> on_health{};
  };

  FakeStoreConnection(jobtracker::Store& store, TaskRunner& task_runner, const Clock& clock,
                      Answers answers)
      : store_(store), task_runner_(task_runner), clock_(clock), answers_(std::move(answers)) {}

  void commit(jobtracker::Batch batch) override { put(std::move(batch)); }
  void read(std::uint64_t token, jobtracker::Read question) override {
    put(jobtracker::StoreQuestion{token, std::move(question)});
  }

  // Does what was begun and not done yet, without an answer: as when a process is killed whose
  // COMMIT has left.
  void finish_unanswered();

  // Each commit has a number of its own; 0: none is under way.
  std::uint64_t commit_under_way() const { return commit_under_way_; }

  // Until it is done, and from there until the loop hears of it.
  std::function<Duration()> work_time = [] { return std::chrono::microseconds{500}; };
  std::function<Duration()> answer_time = [] { return std::chrono::microseconds{50}; };
  // Nothing is done before.
  SteadyTime away_until{};
  // No commit ends before, though the store answers others.
  SteadyTime hangs_until{};
  // Such a question is answered with an error.
  std::function<bool(const jobtracker::Read&)> refuses = [](const jobtracker::Read&) {
    return false;
  };
  // Such a batch is rolled back with this.
  std::function<std::optional<jobtracker::RolledBack>(const jobtracker::Batch&)> rolls_back =
      [](const jobtracker::Batch&) { return std::nullopt; };
  // Called before each commit, for tests that look at batches.
  std::function<void(const jobtracker::Batch&)> on_commit = [](const jobtracker::Batch&) {};
  // Likewise at questions.
  std::function<void(const jobtracker::Read&)> on_read = [](const jobtracker::Read&) {};

 private:
  void put(jobtracker::StoreWork work);
  void begin_next();
  void do_first();
  void try_again(Duration wait, std::function<void()> work);
  void do_batch(const jobtracker::Batch& batch);
  void settle(const jobtracker::Batch& batch, jobtracker::Unknown unknown);
  void batch_done(std::variant<jobtracker::Committed, jobtracker::RolledBack> result);
  void say_health(bool is_away);
  template <class Done>
  void answer(std::function<void(Done)>& to, Done done);

  jobtracker::Store& store_;
  TaskRunner& task_runner_;
  const Clock& clock_;
  Answers answers_;
  jobtracker::StoreWorkQueue line_;
  std::optional<jobtracker::StoreWork> work_{};  // under way
  bool is_away_ = false;
  std::uint64_t last_commit_ = 0;
  std::uint64_t commit_under_way_ = 0;
  SteadyTime last_answer_{};
};

}  // namespace carillon::testing
