#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

const char* to_string(LogState state) {
  switch (state) {
    case LogState::kSucceeded:
      return "succeeded";
    case LogState::kFailed:
      return "failed";
    case LogState::kTimedOut:
      return "timed_out";
    case LogState::kKilled:
      return "killed";
    case LogState::kLost:
      return "lost";
    case LogState::kLater:
      return "later";
    case LogState::kDiscarded:
      return "discarded";
    case LogState::kSkipped:
      return "skipped";
    case LogState::kMissed:
      return "missed";
    case LogState::kExpired:
      return "expired";
    case LogState::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

std::optional<LogState> log_state_of(std::string_view name) {
  for (int i = 0; i < kLogStates; ++i) {
    const auto state = static_cast<LogState>(i);
    if (name == to_string(state)) return state;
  }
  return std::nullopt;
}

void add_figures(FiguresRow& sum, const FiguresRow& more) {
  sum.submitted += more.submitted;
  sum.started += more.started;
  sum.ended += more.ended;
  sum.failed += more.failed;
  sum.lateness_p50_ms = std::max(sum.lateness_p50_ms, more.lateness_p50_ms);
  sum.lateness_p95_ms = std::max(sum.lateness_p95_ms, more.lateness_p95_ms);
  sum.lateness_p99_ms = std::max(sum.lateness_p99_ms, more.lateness_p99_ms);
  sum.backlog += more.backlog;
  sum.workers += more.workers;
  sum.threads += more.threads;
}

}  // namespace carillon::jobtracker
