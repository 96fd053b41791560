#include "jobtracker/push/result_inbox.h"

#include <algorithm>
#include <iterator>
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
  // Results for this job tracker may remain from one that has left.
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

// One read at a time, for all that wait; page by page.
void ResultInbox::read() {
  is_reading_ = true;
  may_have_some_ = false;
  read_at_ = clock_.steady_now();
  std::move(after_next_.begin(), after_next_.end(), std::back_inserter(after_this_));
  after_next_.clear();
  read_behind(0);
}

void ResultInbox::read_behind(std::int64_t id) {
  batcher_.ask(ReadExecutorResults{.after = id, .limit = kRowsMax},
               [this](Result<ReadAnswer> answer) {
                 if (!answer.ok()) {
                   // It is unknown which result was stored first: run_once() reads for those that
                   // wait.
                   may_have_some_ = true;
                   is_reading_ = false;
                   return;
                 }
                 auto& found = std::get<ExecutorResultsAnswer>(answer.value());
                 take_all(std::move(found.rows));
                 if (found.next != 0) return read_behind(found.next);
                 is_reading_ = false;
                 for (const auto& then : std::exchange(after_this_, {})) then();
                 if (!after_next_.empty() && !is_reading_) read();
               });
}

void ResultInbox::take_all(std::vector<ExecutorResult> rows) {
  if (!rows.empty()) may_have_some_ = true;
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
