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

// What one run writes, gathered into chunks. The run appends; the loop takes what has gathered a
// few times a second.
//
// Bounded: beyond the limit nothing is kept any more, and a line in the output says so.
//
// A mutex and no mailbox, because both sides change the same chunk: the run makes it longer until
// the loop takes it away.
//
// Thread: append() the run's, the others any.
class OutputBuffer {
 public:
  static constexpr std::size_t kChunkBytes = 16 * 1024;

  using Sink = std::function<void(wire::Stream stream, std::string_view bytes)>;

  explicit OutputBuffer(const Clock& clock) : clock_(clock) {}

  // From now on nothing is kept here: what is written goes there as it comes, all of it. Before the
  // first run.
  void forward_to(Sink sink) { sink_ = std::move(sink); }

  // Empty again, for the next run.
  void reset(wire::AttemptId attempt, std::size_t bytes_max);

  void append(wire::Stream stream, std::string_view bytes);

  // Whatever is appended from now on is dropped, without a word.
  void close();

  // What has gathered since the last call goes to the end of `chunks`.
  void take(std::vector<wire::OutputChunk>& chunks);

 private:
  void keep(wire::Stream stream, std::string_view bytes);  // Requires: mutex_ is held.

  const Clock& clock_;
  Sink sink_{};
  std::atomic<bool> touched_{false};  // spares the lock where a run writes nothing
  Mutex mutex_;
  wire::AttemptId attempt_ CARILLON_GUARDED_BY(mutex_){};
  std::size_t left_ CARILLON_GUARDED_BY(mutex_) = 0;
  std::size_t limit_ CARILLON_GUARDED_BY(mutex_) = 0;
  bool cut_ CARILLON_GUARDED_BY(mutex_) = false;  // nothing more is kept
  std::int64_t last_sequence_ CARILLON_GUARDED_BY(mutex_) = 0;
  std::vector<wire::OutputChunk> chunks_ CARILLON_GUARDED_BY(mutex_){};
};

}  // namespace carillon::tasktracker
