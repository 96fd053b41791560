#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "jobtracker/store/memory_store.h"
#include "tests/contract/store_contract.h"

namespace carillon::jobtracker {

// The in-memory store, and its faults.
class MemoryTestDatabase final : public StoreTestDatabase {
 public:
  Result<std::unique_ptr<Store>> begin(const StoreSession& session, const SessionPlan& plan,
                                       const Clock& clock) override {
    if (!plan.silent && !cut_) {
      return std::unique_ptr<Store>{std::make_unique<SessionStore>(
          *this, session.session, std::make_unique<MemoryStore>(database_, session, clock))};
    }
    const auto before = cut_ ? std::optional{database_} : std::nullopt;
    auto start = CARILLON_TRY(database_.begin_session(session, clock.wall_now(), plan));
    if (const auto committed = std::exchange(cut_, std::nullopt)) {
      if (!*committed) database_ = *before;
      return Error{ErrorCode::kTimeout, "the connection was cut inside COMMIT"};
    }
    return std::unique_ptr<Store>{std::make_unique<SessionStore>(
        *this, session.session,
        std::make_unique<MemoryStore>(database_, session, clock, std::move(start)))};
  }
  Result<std::unique_ptr<ReadOnlyStore>> open_reader() override {
    return std::unique_ptr<ReadOnlyStore>{std::make_unique<MemoryReader>(database_)};
  }
  Result<bool> raise_heartbeat(SessionId session, bool yields) override {
    return database_.raise_heartbeat(session, yields);
  }
  Result<ClusterView> look(GroupId groups_after) override { return database_.look(groups_after); }
  void cut_next_commit(bool committed) override { cut_ = committed; }
  void cut_when_sent(const std::string& bytes) override { cut_at_ = bytes; }
  Result<StoredTables> rows(const StoredTables&) override {
    return rows_in_memory(database_.tables());
  }

  const MemoryTables& tables() const { return database_.tables(); }

 private:
  // A store with a connection that can be lost.
  class SessionStore final : public Store {
   public:
    SessionStore(MemoryTestDatabase& of, SessionId session, std::unique_ptr<MemoryStore> store)
        : of_(of), session_(session), store_(std::move(store)) {}
    ~SessionStore() override {
      if (is_connected_) of_.database_.end_session(session_);
    }
    SessionStore(const SessionStore&) = delete;
    SessionStore& operator=(const SessionStore&) = delete;

    CommitResult commit(const Batch& batch) override {
      if (of_.sends_what_cuts(batch)) {
        store_->fail_next(MemoryFault::kUnavailable);
      } else if (const auto committed = std::exchange(of_.cut_, std::nullopt)) {
        store_->fail_next(*committed ? MemoryFault::kUnknownCommitted : MemoryFault::kUnknownLost);
      }
      auto result = store_->commit(batch);
      const auto* back = std::get_if<RolledBack>(&result);
      const bool is_away = back != nullptr && back->error.code == ErrorCode::kUnavailable;
      is_connected_ = !is_away && !std::holds_alternative<Unknown>(result);
      return result;
    }
    Result<bool> settle(std::int64_t batch_number) override {
      is_connected_ = true;
      return store_->settle(batch_number);
    }
    Result<ReadAnswer> read(const Read& question) override {
      is_connected_ = true;
      return store_->read(question);
    }

   private:
    MemoryTestDatabase& of_;
    SessionId session_;
    std::unique_ptr<MemoryStore> store_;
    bool is_connected_ = true;
  };

  // Output alone may hold the bytes that cut.
  bool sends_what_cuts(const Batch& batch) {
    const auto cuts = [&](const Operation& operation) {
      const auto* add = std::get_if<AddOutput>(&operation);
      return add != nullptr && add->row.bytes == cut_at_;
    };
    if (cut_at_.empty() || std::none_of(batch.operations.begin(), batch.operations.end(), cuts))
      return false;
    cut_at_.clear();
    return true;
  }

  MemoryDatabase database_{};
  std::optional<bool> cut_{};
  std::string cut_at_{};
};

}  // namespace carillon::jobtracker
