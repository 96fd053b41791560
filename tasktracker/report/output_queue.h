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
  std::size_t message_bytes = 512 * 1024;           // of output in one message, roughly
  std::size_t bytes_max = 64 * 1024 * 1024;         // kept while the job tracker accepts none
  Duration resend_after = std::chrono::seconds{2};  // without an answer
  // After the job tracker accepted only a part.
  Duration full_wait = std::chrono::milliseconds{100};
  Duration keep_after = std::chrono::seconds{1};  // then unaccepted output is also stored on disk
};

// Output of runs for one job tracker: in order, kept until it is accepted, one message at a time.
//
// Bounded: beyond the limit newer output is dropped, and a line in the output says so.
//
// Thread: the loop. Pure.
class OutputQueue {
 public:
  explicit OutputQueue(OutputQueueConfig config) : config_(config) {}

  // Moves the chunks to the queue.
  void add(std::vector<wire::OutputChunk>& chunks);
  // A chunk that an earlier session left on disk.
  void add_kept(wire::OutputChunk chunk, SessionId origin, outbox::EntryId kept);

  // The message to send now, if any.
  std::optional<wire::Output> next_message(SessionId session, SteadyTime now);
  // The job tracker accepted this number of chunks of the newest message.
  void on_taken(std::int64_t chunks, SteadyTime now);
  // Accepted chunks that can be deleted from disk.
  std::vector<outbox::EntryId> take_settled() { return std::exchange(settled_, {}); }

  // Sent output has not been accepted for long.
  bool is_stalled(SteadyTime now) const {
    return stuck_since_ && now >= *stuck_since_ + config_.keep_after;
  }
  // `keep(chunk)` stores a chunk on disk; called for each that is not there.
  template <class Keep>
  void keep_all(Keep keep) {
    for (; unkept_from_ < queue_.size(); ++unkept_from_) {
      Queued& queued = queue_[unkept_from_];
      if (!queued.kept) queued.kept = keep(queued.chunk);
    }
  }

  // The job tracker rejected the newest message for now.
  void on_refused(SteadyTime now);
  // The job tracker will never accept the newest message. Its chunks are sent one by one; a single
  // one is dropped. Returns its attempt.
  std::optional<wire::AttemptId> on_rejected(SteadyTime now);
  // Sent output may be lost: send it again.
  void forget_sent();

  // Some output of this attempt is not accepted yet.
  bool has(const wire::AttemptId& id) const { return chunks_of_.contains(id); }
  bool empty() const { return queue_.empty(); }
  std::size_t bytes() const { return bytes_; }
  bool is_nearly_full() const { return bytes_ > config_.bytes_max / 2; }
  // When to ask for a message again without another event.
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
    SessionId origin{};  // 0: this session
    outbox::EntryId kept{};
  };

  void put(Queued&& queued, OfAttempt& of_attempt);

  const OutputQueueConfig config_;
  std::deque<Queued> queue_{};
  std::size_t unkept_from_ = 0;  // all before that position are on disk
  std::unordered_map<wire::AttemptId, OfAttempt, AttemptHash> chunks_of_{};
  std::size_t bytes_ = 0;
  std::size_t alone_ = 0;                    // this number of chunks is sent one by one
  std::size_t sent_ = 0;                     // chunks in the unanswered message
  std::optional<SteadyTime> stuck_since_{};  // when the first chunk was first sent
  std::vector<outbox::EntryId> settled_{};
  SteadyTime not_before_{};  // sent_ > 0: time of the resend; otherwise: of the next message
};

}  // namespace carillon::tasktracker
