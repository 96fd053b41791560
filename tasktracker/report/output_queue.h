#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "carillon/time.h"
#include "shared/base/sizes.h"
#include "shared/outbox/entry.h"
#include "shared/wire/messages.h"
#include "tasktracker/attempt_hash.h"

namespace carillon::tasktracker {

struct OutputQueueConfig {
  std::size_t message_bytes = 512 * 1024;               // of output in one message, roughly
  std::size_t bytes_max = 64 * 1024 * 1024;             // kept while the tracker does not take any
  Duration resend_after = std::chrono::seconds{2};      // without an answer
  Duration full_wait = std::chrono::milliseconds{100};  // after the tracker took only a part
  Duration keep_after = std::chrono::seconds{1};        // not taken for so long: on disk too
};

// Output of runs on its way to one job tracker: in order, kept until taken, one message at a time.
//
// Bounded: when too much waits, newer output is not kept, and a line in its place says so.
//
// Thread: the loop. Pure.
class OutputQueue {
 public:
  explicit OutputQueue(OutputQueueConfig config) : config_(config) {}

  // The chunks go into the queue; `chunks` is left empty.
  void add(std::vector<wire::OutputChunk>& chunks);
  // One that an earlier session has left on disk.
  void add_kept(wire::OutputChunk chunk, outbox::EntryId kept);

  // The message to send now, if any.
  std::optional<wire::Output> next_message(SessionId session, SteadyTime now);
  // The tracker took so many chunks of the newest message.
  void on_taken(std::int64_t chunks, SteadyTime now);
  // Those of the taken ones that lie on disk too, and need not any more.
  std::vector<outbox::EntryId> take_settled() { return std::exchange(settled_, {}); }

  // Nothing of what was sent is taken for long.
  bool is_stalled(SteadyTime now) const {
    return stuck_since_ && now >= *stuck_since_ + config_.keep_after;
  }
  // `keep(chunk)` puts a chunk on disk; called for each that is not there.
  template <class Keep>
  void keep_all(Keep keep) {
    for (; unkept_from_ < queue_.size(); ++unkept_from_) {
      Queued& queued = queue_[unkept_from_];
      if (!queued.kept) queued.kept = keep(queued.chunk);
    }
  }

  // The tracker refused the newest message for now.
  void on_refused(SteadyTime now);
  // The tracker will never take the newest message. Its chunks go one by one; of one that was alone
  // nothing is kept. Returns whose it was.
  std::optional<wire::AttemptId> on_rejected(SteadyTime now);
  // What was sent may be lost.
  void forget_sent();

  // Something that this attempt wrote was not taken yet.
  bool has(const wire::AttemptId& id) const { return chunks_of_.contains(id); }
  bool empty() const { return queue_.empty(); }
  std::size_t bytes() const { return bytes_; }
  bool is_nearly_full() const { return bytes_ > config_.bytes_max / 2; }
  // When to ask for a message again, if nothing happens before.
  std::optional<SteadyTime> next_time() const;
  Sizes sizes() const {
    return {{"queue", queue_.size()},
            {"chunks_of", chunks_of_.size()},
            {"bytes", bytes_},
            {"settled", settled_.size()}};
  }

 private:
  struct OfAttempt {
    std::size_t chunks = 0;
    bool cut = false;
  };
  struct Queued {
    wire::OutputChunk chunk{};
    outbox::EntryId kept{};
  };

  void put(wire::OutputChunk&& chunk, OfAttempt& of_attempt, outbox::EntryId kept);

  const OutputQueueConfig config_;
  std::deque<Queued> queue_{};
  std::size_t unkept_from_ = 0;  // all before that place are on disk
  std::unordered_map<wire::AttemptId, OfAttempt, AttemptHash> chunks_of_{};
  std::size_t bytes_ = 0;
  std::size_t alone_ = 0;  // so many at the front go one by one
  std::size_t sent_ = 0;   // chunks at the front that the unanswered message carries
  std::optional<SteadyTime> stuck_since_{};  // when what is at the front was sent first
  std::vector<outbox::EntryId> settled_{};
  SteadyTime not_before_{};  // sent_ > 0: it is sent again; otherwise: the next is sent
};

}  // namespace carillon::tasktracker
