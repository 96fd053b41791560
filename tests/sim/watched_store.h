#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <variant>

#include "jobtracker/store/memory_store.h"
#include "tests/sim/timeline.h"

namespace carillon::sim {

// A session's connection to the database that all share. It can be told to fail, and shows what it
// has really committed, whatever its caller is told.
//
// Thread: the simulation's.
class WatchedStore final : public jobtracker::Store {
 public:
  using Fault = jobtracker::MemoryFault;
  using OnCommit = std::function<void(const jobtracker::Batch&, const jobtracker::Committed&)>;

  // `start`: of a session that has begun beside others; the database's clock is followed then.
  WatchedStore(jobtracker::MemoryDatabase& database, const jobtracker::StoreSession& session,
               const std::optional<jobtracker::SessionStart>& start, const Clock& clock,
               const Timeline& timeline, OnCommit on_commit)
      : database_(database),
        session_(session),
        clock_(clock),
        timeline_(timeline),
        is_shared_(start.has_value()),
        store_(start ? jobtracker::MemoryStore(database, session, clock, *start)
                     : jobtracker::MemoryStore(database, session, clock)),
        on_commit_(std::move(on_commit)) {}

  // What the next calls do instead, each once.
  void fail_next(Fault fault) { faults_.push_back(fault); }
  // Nothing but beats finds room before.
  void fill_until(SteadyTime when) { full_until_ = when; }
  void mend() {
    faults_.clear();
    full_until_ = {};
  }

  jobtracker::CommitResult commit(const jobtracker::Batch& batch) override {
    const auto fault = next_fault();
    if (fault == Fault::kUnavailable) return jobtracker::RolledBack{.error = away()};
    if (fault == Fault::kUnknownLost) return jobtracker::Unknown{};
    const bool is_beat = batch.operations.empty() && batch.requests.empty();
    const bool is_fenced = database_.tracker(session_) == nullptr;
    if (clock_.steady_now() < full_until_ && !is_beat && !is_fenced) {
      return jobtracker::RolledBack{.error = {ErrorCode::kLimit, "the disk is full"}};
    }
    auto result = store_.commit(batch);
    auto* committed = std::get_if<jobtracker::Committed>(&result);
    if (committed == nullptr) return result;
    on_commit_(batch, *committed);
    if (fault == Fault::kUnknownCommitted) {
      return jobtracker::Unknown{.if_committed = std::move(*committed)};
    }
    return result;
  }

  Result<bool> settle(std::int64_t batch_number) override {
    if (next_fault()) return away();
    return store_.settle(batch_number);
  }

  Result<jobtracker::ReadAnswer> read(const jobtracker::Read& question) override {
    if (next_fault()) return away();
    auto answer = store_.read(question);
    if (is_shared_ && answer.ok()) show_clock(answer.value());
    return answer;
  }

 private:
  static Error away() { return {ErrorCode::kUnavailable, "the database is away"}; }
  void show_clock(jobtracker::ReadAnswer& answer) const {
    const jobtracker::ClockAnswer clock{.shows = timeline_.wall_now(), .at = timeline_.now()};
    if (auto* asked = std::get_if<jobtracker::ClockAnswer>(&answer)) *asked = clock;
    if (auto* start = std::get_if<jobtracker::StartAnswer>(&answer)) start->clock = clock;
  }
  std::optional<Fault> next_fault() {
    if (faults_.empty()) return std::nullopt;
    const Fault fault = faults_.front();
    faults_.pop_front();
    return fault;
  }

  jobtracker::MemoryDatabase& database_;
  const jobtracker::StoreSession session_;
  const Clock& clock_;
  const Timeline& timeline_;
  const bool is_shared_;
  SteadyTime full_until_{};
  jobtracker::MemoryStore store_;
  OnCommit on_commit_;
  std::deque<Fault> faults_;
};

}  // namespace carillon::sim
