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

// Delivers results to an xxl-job admin: stores them on disk before sending, as the sent bytes,
// until an admin has accepted them. Results of a killed process are sent as well.
//
// If the disk fails, it keeps at most 10 000 in memory, and logs this.
//
// Thread: add() any number at a time; deliver() one.
class ResultOutbox {
 public:
  // `admin` must outlive this object. `wake` requests deliver(), on any thread.
  ResultOutbox(std::unique_ptr<outbox::Outbox> outbox, AdminClient& admin, const Clock& clock,
               std::function<void()> wake);

  // Returns when it is on disk. Calls on several threads share a transaction.
  void add(const wire::xxl::RunResult& result);

  // Sends pending results, if it is time, or `now`. Returns when to call it again; none: after the
  // next add().
  std::optional<SteadyTime> deliver(bool now = false);

  // Number of undelivered results.
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

  // Reported results that are not on disk. It has its own mutex, so that threads can add while one
  // writes.
  mutable Mutex pending_mutex_;
  std::vector<outbox::Entry> pending_ CARILLON_GUARDED_BY(pending_mutex_){};
  std::int64_t last_id_ CARILLON_GUARDED_BY(pending_mutex_) = 0;

  // Locked during disk writes, never during calls to an admin.
  mutable Mutex outbox_mutex_;
  std::unique_ptr<outbox::Outbox> outbox_ CARILLON_GUARDED_BY(outbox_mutex_);
  std::vector<outbox::Entry> unwritten_ CARILLON_GUARDED_BY(outbox_mutex_){};

  // Used by the delivering thread.
  std::optional<SteadyTime> retry_at_{};
  Duration pause_{};
};

}  // namespace carillon::tasktracker
