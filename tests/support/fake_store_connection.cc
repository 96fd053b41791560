#include "tests/support/fake_store_connection.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace carillon::testing {

using jobtracker::Batch;
using jobtracker::BatchDone;
using jobtracker::Committed;
using jobtracker::ReadAnswer;
using jobtracker::ReadDone;
using jobtracker::RolledBack;
using jobtracker::Unknown;

namespace {

constexpr Duration kRetry = std::chrono::milliseconds{100};

bool may_pass(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kConflict ||
         error.code == ErrorCode::kTimeout;
}

}  // namespace

void FakeStoreConnection::put(jobtracker::StoreWork work) {
  line_.put(std::move(work));
  if (!work_) begin_next();
}

void FakeStoreConnection::begin_next() {
  work_ = line_.next();
  if (!work_) return;
  if (std::holds_alternative<Batch>(*work_)) commit_under_way_ = ++last_commit_;
  task_runner_.post_at(clock_.steady_now() + work_time(), [this] { do_first(); });
}

void FakeStoreConnection::do_first() {
  if (clock_.steady_now() < away_until) {
    say_health(true);
    task_runner_.post_at(away_until, [this] { do_first(); });
    return;
  }
  if (const auto* batch = std::get_if<Batch>(&*work_)) {
    if (clock_.steady_now() >= hangs_until) return do_batch(*batch);
    const SteadyTime soon = clock_.steady_now() + kRetry;
    task_runner_.post_at(std::min(hangs_until, soon), [this] { do_first(); });
    return;
  }
  const auto& question = std::get<jobtracker::StoreQuestion>(*work_);
  on_read(question.read);
  auto found = refuses(question.read)
                   ? Result<ReadAnswer>{Error{ErrorCode::kInvalidArgument, "refused"}}
                   : store_.read(question.read);
  if (!found.ok() && may_pass(found.error())) return try_again(kRetry, [this] { do_first(); });
  say_health(false);
  answer(answers_.on_read, ReadDone{question.token, std::move(found)});
  begin_next();
}

void FakeStoreConnection::do_batch(const Batch& batch) {
  on_commit(batch);
  if (auto refused = rolls_back(batch)) return batch_done(*std::move(refused));
  auto result = store_.commit(batch);
  if (auto* unknown = std::get_if<Unknown>(&result)) return settle(batch, std::move(*unknown));
  if (auto* committed = std::get_if<Committed>(&result)) return batch_done(std::move(*committed));
  auto& rolled_back = std::get<RolledBack>(result);
  if (rolled_back.fenced || !may_pass(rolled_back.error)) return batch_done(std::move(rolled_back));
  try_again(kRetry, [this] { do_first(); });
}

void FakeStoreConnection::settle(const Batch& batch, Unknown unknown) {
  try_again(kRetry, [this, &batch, unknown = std::move(unknown)] {
    const auto settled = store_.settle(batch.number);
    if (settled.ok() && settled.value()) return batch_done(unknown.if_committed);
    if (settled.ok()) return do_first();
    if (!may_pass(settled.error())) {
      return batch_done(RolledBack{.error = settled.error(),
                                   .fenced = settled.error().code == ErrorCode::kDenied});
    }
    settle(batch, unknown);
  });
}

void FakeStoreConnection::batch_done(std::variant<Committed, RolledBack> result) {
  say_health(false);
  commit_under_way_ = 0;
  answer(answers_.on_batch, BatchDone{std::move(std::get<Batch>(*work_)), std::move(result)});
  begin_next();
}

void FakeStoreConnection::try_again(Duration wait, std::function<void()> work) {
  say_health(true);
  task_runner_.post_at(clock_.steady_now() + wait, std::move(work));
}

void FakeStoreConnection::say_health(bool is_away) {
  if (std::exchange(is_away_, is_away) != is_away) answer(answers_.on_health, is_away);
}

template <class Done>
void FakeStoreConnection::answer(std::function<void(Done)>& to, Done done) {
  last_answer_ = std::max(last_answer_, clock_.steady_now() + answer_time());
  auto kept = std::make_shared<Done>(std::move(done));
  task_runner_.post_at(last_answer_, [&to, kept] { to(std::move(*kept)); });
}

void FakeStoreConnection::finish_unanswered() {
  if (!work_ || clock_.steady_now() < away_until) return;
  if (const auto* batch = std::get_if<Batch>(&*work_)) {
    // Committed or not: nobody of this life will ever know.
    [[maybe_unused]] const auto result = store_.commit(*batch);
  }
}

}  // namespace carillon::testing
