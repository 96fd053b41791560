#include "jobtracker/log_indexer.h"

#include <algorithm>

namespace carillon::jobtracker {
namespace {

constexpr int kCalmRuns = 5;
// Pause when there were too few rows, first and at most.
constexpr Duration kRestFirst = std::chrono::seconds{2};
constexpr Duration kRestLast = std::chrono::seconds{30};

}  // namespace

void LogIndexer::run_once() {
  calm_ = batcher_.pending_rows() <= config_.pending_max ? calm_ + 1 : 0;
  if (is_at_it_ || calm_ < kCalmRuns || clock_.steady_now() < not_before_) return;
  if (!batcher_.has_settled()) return;  // The index needs no row of this session yet.
  if (ownership_.owned().test(0)) step();
}

void LogIndexer::step() {
  if (is_stopped_) return;
  is_at_it_ = true;
  batcher_.post(Urgency::kHousekeeping, IndexLog{.rows = config_.rows},
                [this](Operation&, const Outcome& outcome, const Error*) {
                  is_at_it_ = false;
                  stepped(outcome.count);
                });
}

// With an idle store the next step follows without a pause.
void LogIndexer::stepped(std::int64_t rows) {
  if (rows == 0) {
    rest_ = std::clamp(2 * rest_, kRestFirst, kRestLast);
    not_before_ = clock_.steady_now() + rest_;
    return;
  }
  rest_ = {};
  if (batcher_.pending_rows() == 0) step();
}

}  // namespace carillon::jobtracker
