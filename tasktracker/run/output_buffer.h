#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/mutex.h"
#include "shared/wire/messages.h"

namespace carillon::tasktracker {

// Collects the output of one run in chunks. The run appends; the loop takes the chunks a few times
// a second.
//
// Bounded: beyond the limit nothing is kept, and a line in the output says so.
//
// Uses a mutex instead of a mailbox, because both sides change the same chunk: the run extends it
// until the loop takes it.
//
// Thread: append() the run's, the others any.
class OutputBuffer {
 public:
  static constexpr std::size_t kChunkBytes = 16 * 1024;

  using Sink = std::function<void(wire::Stream stream, std::string_view bytes)>;

  explicit OutputBuffer(const Clock& clock) : clock_(clock) {}

  // Passes all later output to `sink` instead of keeping it. Call before the first run.
  void forward_to(Sink sink) { sink_ = std::move(sink); }

  // Clears it for the next run.
  void reset(wire::AttemptId attempt, std::size_t bytes_max);

  void append(wire::Stream stream, std::string_view bytes);

  // Silently drops all later output.
  void close();

  // Appends the output since the last call to `chunks`.
  void take(std::vector<wire::OutputChunk>& chunks);

 private:
  void keep(wire::Stream stream, std::string_view bytes);  // Requires: mutex_ is held.

  const Clock& clock_;
  Sink sink_{};
  std::atomic<bool> touched_{false};  // avoids locking for a run without output
  Mutex mutex_;
  wire::AttemptId attempt_ CARILLON_GUARDED_BY(mutex_){};
  std::size_t left_ CARILLON_GUARDED_BY(mutex_) = 0;
  std::size_t limit_ CARILLON_GUARDED_BY(mutex_) = 0;
  bool cut_ CARILLON_GUARDED_BY(mutex_) = false;  // output is cut
  std::int64_t last_sequence_ CARILLON_GUARDED_BY(mutex_) = 0;
  std::vector<wire::OutputChunk> chunks_ CARILLON_GUARDED_BY(mutex_){};
};

}  // namespace carillon::tasktracker
