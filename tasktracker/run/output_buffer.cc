#include "tasktracker/run/output_buffer.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace carillon::tasktracker {
namespace {

std::string size_text(std::size_t bytes) {
  constexpr std::size_t kKibi = 1024;
  constexpr std::size_t kMebi = kKibi * kKibi;
  if (bytes >= kMebi && bytes % kMebi == 0) return std::to_string(bytes / kMebi) + " MiB";
  if (bytes >= kKibi && bytes % kKibi == 0) return std::to_string(bytes / kKibi) + " KiB";
  return std::to_string(bytes) + " bytes";
}

}  // namespace

void OutputBuffer::reset(wire::AttemptId attempt, std::size_t bytes_max) {
  const MutexLock lock(mutex_);
  attempt_ = attempt;
  left_ = bytes_max;
  limit_ = bytes_max;
  cut_ = false;
  last_sequence_ = 0;
  chunks_.clear();
  touched_.store(false, std::memory_order_release);
}

void OutputBuffer::append(wire::Stream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  if (sink_) return sink_(stream, bytes);
  const MutexLock lock(mutex_);
  if (cut_) return;
  touched_.store(true, std::memory_order_release);
  const std::size_t fits = std::min(left_, bytes.size());
  keep(stream, bytes.substr(0, fits));
  left_ -= fits;
  if (fits < bytes.size()) {
    cut_ = true;
    keep(wire::Stream::kLog, "\n[carillon: the output was cut after " + size_text(limit_) +
                                 ", the rest is not kept]\n");
  }
}

void OutputBuffer::close() {
  const MutexLock lock(mutex_);
  cut_ = true;
}

void OutputBuffer::keep(wire::Stream stream, std::string_view bytes) {
  while (!bytes.empty()) {
    if (chunks_.empty() || chunks_.back().stream != stream ||
        chunks_.back().bytes.size() >= kChunkBytes) {
      chunks_.push_back({.id = attempt_,
                         .sequence = ++last_sequence_,
                         .stream = stream,
                         .at = clock_.wall_now()});
    }
    std::string& last = chunks_.back().bytes;
    const std::size_t part = std::min(bytes.size(), kChunkBytes - last.size());
    last.append(bytes.substr(0, part));
    bytes.remove_prefix(part);
  }
}

void OutputBuffer::take(std::vector<wire::OutputChunk>& chunks) {
  if (!touched_.load(std::memory_order_acquire)) return;
  const MutexLock lock(mutex_);
  std::move(chunks_.begin(), chunks_.end(), std::back_inserter(chunks));
  chunks_.clear();
  touched_.store(false, std::memory_order_release);
}

}  // namespace carillon::tasktracker
