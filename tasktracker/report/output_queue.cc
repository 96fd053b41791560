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
          "\n[carillon: the rest of the output is not kept, because the job tracker "
          "does not take it]\n";
    }
    ++of_attempt.chunks;
    bytes_ += chunk.bytes.size();
    queue_.push_back(std::move(chunk));
  }
  chunks.clear();
}

std::optional<wire::Output> OutputQueue::next_message(SessionId session, SteadyTime now) {
  if (queue_.empty() || now < not_before_) return std::nullopt;
  wire::Output output{.session = session};
  std::size_t bytes = 0;
  for (const wire::OutputChunk& chunk : queue_) {
    bytes += chunk.bytes.size();
    if (!output.chunks.empty() && bytes > config_.message_bytes) break;
    output.chunks.push_back(chunk);
  }
  sent_ = output.chunks.size();
  not_before_ = now + config_.resend_after;
  return output;
}

void OutputQueue::on_taken(std::int64_t chunks, SteadyTime now) {
  const std::size_t taken =
      std::min(static_cast<std::size_t>(std::max<std::int64_t>(chunks, 0)), sent_);
  for (std::size_t i = 0; i < taken; ++i) {
    const wire::OutputChunk& chunk = queue_.front();
    const auto of_attempt = chunks_of_.find(chunk.id);
    if (--of_attempt->second.chunks == 0) chunks_of_.erase(of_attempt);
    bytes_ -= chunk.bytes.size();
    queue_.pop_front();
  }
  not_before_ = taken < sent_ ? now + config_.full_wait : SteadyTime{};
  sent_ = 0;
}

void OutputQueue::on_refused(SteadyTime now) {
  sent_ = 0;
  not_before_ = now + config_.full_wait;
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
