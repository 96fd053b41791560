#pragma once

#include <memory>
#include <utility>

#include "jobtracker/store/memory_store.h"
#include "tests/contract/store_contract.h"

namespace carillon::jobtracker {

// The in-memory store, and its faults.
class MemoryTestDatabase final : public StoreTestDatabase {
 public:
  Result<std::unique_ptr<Store>> open(const StoreSession& session, const Clock& clock) override {
    auto store = std::make_unique<MemoryStore>(database_, session, clock);
    newest_ = store.get();
    return std::unique_ptr<Store>{std::move(store)};
  }
  Result<std::unique_ptr<ReadOnlyStore>> open_reader() override {
    return std::unique_ptr<ReadOnlyStore>{std::make_unique<MemoryReader>(database_)};
  }
  void cut_next_commit(bool committed) override {
    newest_->fail_next(committed ? MemoryFault::kUnknownCommitted : MemoryFault::kUnknownLost);
  }

 private:
  MemoryDatabase database_{};
  MemoryStore* newest_ = nullptr;
};

}  // namespace carillon::jobtracker
