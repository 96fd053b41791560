#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "jobtracker/store/memory_store.h"

namespace carillon::sim {

// A session's connection to the database that all share. It can be told to fail, and shows what it
// has really committed, whatever its caller is told.
//
// Thread: the simulation's.
class WatchedStore final : public jobtracker::Store {
 public:
  using Fault = jobtracker::MemoryFault;
  using OnCommit = std::function<void(const jobtracker::Batch&, const jobtracker::Committed&)>;

  WatchedStore(jobtracker::MemoryDatabase& database, const jobtracker::StoreSession& session,
               const Clock& clock, OnCommit on_commit)
      : store_(database, session, clock), on_commit_(std::move(on_commit)) {}

  // What the next calls do instead, each once.
  void fail_next(Fault fault) { faults_.push_back(fault); }
  void stop_failing() { faults_.clear(); }

  jobtracker::CommitResult commit(const jobtracker::Batch& batch) override {
    const auto fault = next_fault();
    if (fault == Fault::kUnavailable) return jobtracker::RolledBack{.error = away()};
    if (fault == Fault::kUnknownLost) return jobtracker::Unknown{};
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
    return store_.read(question);
  }

 private:
  static Error away() { return {ErrorCode::kUnavailable, "the database is away"}; }
  std::optional<Fault> next_fault() {
    if (faults_.empty()) return std::nullopt;
    const Fault fault = faults_.front();
    faults_.pop_front();
    return fault;
  }

  jobtracker::MemoryStore store_;
  OnCommit on_commit_;
  std::deque<Fault> faults_;
};

}  // namespace carillon::sim
