#include "tasktracker/report/output_queue.h"

#include <algorithm>
#include <utility>

namespace carillon::tasktracker {

void OutputQueue::add(std::vector<wire::OutputChunk>& chunks) {
  for (wire::OutputChunk& chunk : chunks) {
    OfAttempt& of_attempt = chunks_of_[chunk.id];
    if (of_attempt.cut) continue;
    if (bytes_ + chunk.bytes.size() > config_.bytes_max) {
      of_attempt.cut = true;
      chunk.stream = wire::Stream::kLog;
      chunk.bytes =
          "\n[carillon: the rest of the output is lost, because the job tracker does not accept "
          "it]\n";
    }
    put({.chunk = std::move(chunk)}, of_attempt);
  }
  chunks.clear();
}

void OutputQueue::add_kept(wire::OutputChunk chunk, SessionId origin, outbox::EntryId kept) {
  OfAttempt& of_attempt = chunks_of_[chunk.id];
  put({.chunk = std::move(chunk), .origin = origin, .kept = kept}, of_attempt);
}

void OutputQueue::put(Queued&& queued, OfAttempt& of_attempt) {
  ++of_attempt.chunks;
  bytes_ += queued.chunk.bytes.size();
  queue_.push_back(std::move(queued));
}

std::optional<wire::Output> OutputQueue::next_message(SessionId session, SteadyTime now) {
  if (queue_.empty() || now < not_before_) return std::nullopt;
  wire::Output output{.session = session, .origin = queue_.front().origin};
  std::size_t bytes = 0;
  for (const Queued& queued : queue_) {
    if (queued.origin != output.origin) break;
    bytes += queued.chunk.bytes.size();
    if (!output.chunks.empty() && bytes > config_.message_bytes) break;
    output.chunks.push_back(queued.chunk);
    if (alone_ > 0) break;
  }
  sent_ = output.chunks.size();
  if (!stuck_since_) stuck_since_ = now;
  not_before_ = now + config_.resend_after;
  return output;
}

void OutputQueue::on_taken(std::int64_t chunks, SteadyTime now) {
  const std::size_t taken =
      std::min(static_cast<std::size_t>(std::max<std::int64_t>(chunks, 0)), sent_);
  for (std::size_t i = 0; i < taken; ++i) {
    const wire::OutputChunk& chunk = queue_.front().chunk;
    if (queue_.front().kept) settled_.push_back(queue_.front().kept);
    const auto of_attempt = chunks_of_.find(chunk.id);
    if (--of_attempt->second.chunks == 0) chunks_of_.erase(of_attempt);
    bytes_ -= chunk.bytes.size();
    queue_.pop_front();
  }
  alone_ -= std::min(alone_, taken);
  unkept_from_ -= std::min(unkept_from_, taken);
  if (taken > 0) stuck_since_.reset();
  not_before_ = taken < sent_ ? now + config_.full_wait : SteadyTime{};
  sent_ = 0;
}

void OutputQueue::on_refused(SteadyTime now) {
  sent_ = 0;
  not_before_ = now + config_.full_wait;
}

std::optional<wire::AttemptId> OutputQueue::on_rejected(SteadyTime now) {
  if (sent_ == 1) {
    const wire::AttemptId id = queue_.front().chunk.id;
    on_taken(1, now);
    return id;
  }
  alone_ = sent_;
  forget_sent();
  return std::nullopt;
}

void OutputQueue::forget_sent() {
  sent_ = 0;
  not_before_ = {};
}

std::optional<SteadyTime> OutputQueue::next_time() const {
  if (queue_.empty()) return std::nullopt;
  return not_before_;
}

}  // namespace carillon::tasktracker
