#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/mutex.h"
#include "shared/outbox/outbox.h"
#include "shared/wire/xxl/messages.h"
#include "tasktracker/executor/admin_client.h"

namespace carillon::tasktracker {

// Results on their way to an xxl-job admin: on disk before they are sent, as the bytes that are
// sent, and until an admin has taken them. Those that a killed process left are sent as well.
//
// When the disk takes nothing, they are kept in memory (and that is said), at most 10 000.
//
// Thread: add() any number at a time; deliver() one.
class ResultOutbox {
 public:
  // `admin` must outlive it. `wake` asks for deliver(), on any thread.
  ResultOutbox(std::unique_ptr<outbox::Outbox> outbox, AdminClient& admin, const Clock& clock,
               std::function<void()> wake);

  // Returns when it is on disk. Those of several threads share a transaction.
  void add(const wire::xxl::RunResult& result);

  // Sends what there is, if it is time, or `now`. When to call again; nothing: when there is a new
  // one.
  std::optional<SteadyTime> deliver(bool now = false);

  // Those that nobody has taken yet.
  std::int64_t left() const;

 private:
  void write_pending();
  std::vector<outbox::Entry> load();
  Status send(const std::vector<outbox::Entry>& entries);
  Status send_batch(const outbox::Entry* first, std::size_t count, bool& any_taken);
  Status send_together(const outbox::Entry* first, std::size_t count);
  void take_out(const outbox::Entry* first, std::size_t count);

  const Clock& clock_;
  const Logger log_{"xxl"};
  const std::function<void()> wake_;
  AdminClient& admin_;

  // What was reported and is not on disk. A mutex of its own, so that reporting threads gather
  // while one of them writes.
  mutable Mutex pending_mutex_;
  std::vector<outbox::Entry> pending_ CARILLON_GUARDED_BY(pending_mutex_){};
  std::int64_t last_id_ CARILLON_GUARDED_BY(pending_mutex_) = 0;

  // Held while the disk works, never while an admin is called.
  mutable Mutex outbox_mutex_;
  std::unique_ptr<outbox::Outbox> outbox_ CARILLON_GUARDED_BY(outbox_mutex_);
  std::vector<outbox::Entry> unwritten_ CARILLON_GUARDED_BY(outbox_mutex_){};

  // Of the delivering thread.
  std::optional<SteadyTime> retry_at_{};
  Duration pause_{};
};

}  // namespace carillon::tasktracker
