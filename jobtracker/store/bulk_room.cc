#include "jobtracker/store/bulk_room.h"

#include <algorithm>
#include <limits>

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kHalves = 2;
constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::max() / 2;
// Claims and ends come in waves that a single batch may miss; this window covers several.
constexpr Duration kWindow = std::chrono::milliseconds{100};

}  // namespace

void BulkRoom::make_batch(SteadyTime now, std::size_t limit, Duration time) {
  const auto passed = std::chrono::duration_cast<Duration>(now - weighed_at_);
  if (passed < kWindow) return;
  const auto rows = static_cast<std::int64_t>(limit);
  const std::int64_t could = rows * (passed / time);
  // More than the store can write, so that nothing is limited while no job runs.
  const std::int64_t left = ran_ == 0 ? kNoBound / kHalves : could * 3 / 2 - 7 * ran_;
  room_ = std::max(std::min(room_, kHalves * rows), kHalves * left);
  weighed_at_ = now;
  ran_ = 0;
}

void BulkRoom::ran(std::size_t rows) {
  ran_ += static_cast<std::int64_t>(rows);
  room_ += static_cast<std::int64_t>(rows);
}

void BulkRoom::took(std::size_t rows) { room_ -= kHalves * static_cast<std::int64_t>(rows); }

}  // namespace carillon::jobtracker
