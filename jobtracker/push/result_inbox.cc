#include "jobtracker/push/result_inbox.h"

#include <utility>

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kRowsMax = 1'000;
constexpr Duration kPeriod = std::chrono::milliseconds{500};

}  // namespace

ResultInbox::ResultInbox(const Ownership& ownership, Batcher& batcher, IdSource& ids,
                         SchedulingClock& clock, Take take)
    : ownership_(ownership), batcher_(batcher), ids_(ids), clock_(clock), take_(std::move(take)) {}

void ResultInbox::put(std::vector<wire::xxl::RunResult> results, OnStored done) {
  std::vector<Operation> operations;
  for (wire::xxl::RunResult& one : results) {
    operations.emplace_back(
        PutExecutorResult{{.id = ids_.next(clock_.now()),
                           .log_id = one.log_id,
                           .code = static_cast<std::int32_t>(one.code),
                           .message = std::move(one.message).value_or(std::string{})}});
  }
  batcher_.post_unit(Urgency::kCompletion, std::move(operations),
                     [done = std::move(done)](std::vector<Operation>&, const std::vector<Outcome>&,
                                              const Error* refused) {
                       done(refused != nullptr ? Status{*refused} : Status{});
                     });
}

void ResultInbox::run_once() {
  // What others were told may be left of one that has gone.
  if (ownership_.are_several()) may_have_some_ = true;
  const SteadyTime now = clock_.steady_now();
  if (!may_have_some_ || is_reading_ || now - read_at_ < kPeriod) return;
  read();
}

void ResultInbox::after_others(std::function<void()> then) {
  if (!ownership_.are_several()) return then();
  after_next_.push_back(std::move(then));
  if (!is_reading_) read();
}

// One at a time, for all who wait then.
void ResultInbox::read() {
  is_reading_ = true;
  read_at_ = clock_.steady_now();
  batcher_.ask(ReadExecutorResults{.limit = kRowsMax},
               [this, after = std::exchange(after_next_, {})](Result<ReadAnswer> answer) {
                 is_reading_ = false;
                 if (answer.ok())
                   take_all(std::move(std::get<ExecutorResultsAnswer>(answer.value()).rows));
                 for (const auto& then : after) then();
                 if (!after_next_.empty() && !is_reading_) read();
               });
}

void ResultInbox::take_all(std::vector<ExecutorResult> rows) {
  may_have_some_ = !rows.empty();
  for (ExecutorResult& row : rows) {
    if (!under_way_.insert(row.id).second) continue;
    ExecutorResults one;
    one.results.push_back(
        {.log_id = row.log_id, .code = row.code, .message = std::move(row.message)});
    take_(std::move(one), [this, id = row.id](const Status& status) {
      if (!status.ok()) {
        under_way_.erase(id);
        return;
      }
      batcher_.post(Urgency::kHousekeeping, RemoveExecutorResult{id},
                    [this, id](Operation&, const Outcome&, const Error*) { under_way_.erase(id); });
    });
  }
}

}  // namespace carillon::jobtracker
