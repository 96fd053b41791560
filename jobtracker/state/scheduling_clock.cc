#include "jobtracker/state/scheduling_clock.h"

#include <algorithm>

#include "shared/base/time_text.h"

namespace carillon::jobtracker {
namespace {

constexpr Duration kJump = std::chrono::seconds{2};
constexpr Duration kJumpBelieved = std::chrono::seconds{2};
constexpr Duration kAgreement = std::chrono::milliseconds{500};
// A slew moves by at most 1 % of the elapsed time, so that the clock never stops.
constexpr int kSlewShare = 100;
// The drift between two clocks is less than one part in this number.
constexpr int kDriftShare = 10'000;

Duration of_steady(SteadyTime steady) {
  return std::chrono::duration_cast<Duration>(steady.time_since_epoch());
}

}  // namespace

SchedulingClock::SchedulingClock(const Clock& clock, const Logger& log)
    : clock_(clock), log_(log), adjusted_at_(clock.steady_now()) {
  offset_ = clock_.wall_now().time_since_epoch() - of_steady(adjusted_at_);
}

WallTime SchedulingClock::at(SteadyTime steady) const {
  return WallTime{of_steady(steady) + offset_};
}

WallTime SchedulingClock::wall_at(SteadyTime steady) const {
  return followed_ ? WallTime{of_steady(steady) + followed_->offset} : clock_.wall_now();
}

void SchedulingClock::follow(WallTime shown, SteadyTime at, Duration took) {
  const Followed read{
      .offset = shown.time_since_epoch() - of_steady(at), .error = took / 2, .at = at};
  if (!followed_) {
    followed_ = read;
    offset_ = read.offset;
    return;
  }
  const auto gone_by = std::chrono::duration_cast<Duration>(at - followed_->at);
  followed_->error += gone_by / kDriftShare;
  followed_->at = at;
  if (read.error <= followed_->error) {
    followed_ = read;
  } else {
    followed_->offset =
        std::clamp(followed_->offset, read.offset - read.error, read.offset + read.error);
  }
}

SteadyTime SchedulingClock::steady_at(WallTime when) const {
  // One microsecond more, because now() truncates nanoseconds.
  return SteadyTime{when.time_since_epoch() - offset_ + Duration{1}};
}

Duration SchedulingClock::adjust() {
  const SteadyTime steady = clock_.steady_now();
  const Duration difference = wall_at(steady) - at(steady);
  const Duration gone_by = std::chrono::duration_cast<Duration>(steady - adjusted_at_);
  adjusted_at_ = steady;
  if (std::chrono::abs(difference) <= kJump) {
    jump_seen_ = false;
    const Duration most = gone_by / kSlewShare;
    offset_ += std::clamp(difference, -most, most);
    return {};
  }
  if (!jump_seen_ || std::chrono::abs(difference - jump_) > kAgreement) {
    jump_seen_ = true;
    jump_ = difference;
    jump_seen_at_ = steady;
    return {};
  }
  if (steady - jump_seen_at_ < kJumpBelieved) return {};
  log_.warn("the wall clock changed", "by_ms", difference.count() / 1000, "now",
            format_time(wall_at(steady)));
  jump_seen_ = false;
  offset_ += difference;
  return difference;
}

}  // namespace carillon::jobtracker
