#include "jobtracker/push/rhythm.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace carillon::jobtracker {
namespace {

// While the period is unknown, a shorter gap is early; shorter periods do not exist.
constexpr Duration kPeriodLeast = std::chrono::seconds{8};
constexpr Duration kPeriodMost = std::chrono::seconds{75};
// A larger step back means that the clock moved back.
constexpr Duration kSetBack = 2 * kPeriodMost;

// Shorter by a fifth or more.
bool is_short_of(Duration gap, Duration whole) { return 5 * gap < 4 * whole; }

bool are_alike(Duration one, Duration other) {
  return !is_short_of(std::min(one, other), std::max(one, other));
}

// An executor that registers at fixed times was late once and is on time again.
bool makes_up_for(Duration before, Duration gap, Duration period) {
  const Duration whole = before % period + gap;
  return 5 * gap >= period && 10 * std::max(whole - period, period - whole) <= period;
}

}  // namespace

bool Rhythm::is_broken_by(WallTime at) {
  const Duration gap = at - last_;
  if (gap < -kSetBack) last_ = at;
  if (gap <= Duration{}) return false;  // A repetition, or the clock moved back.
  const bool is_first = last_ == WallTime{};
  last_ = at;
  if (is_first) return false;
  const Duration before = std::exchange(gap_, gap);
  const bool is_known = period_ > Duration{};
  const bool is_early = is_known ? is_short_of(gap, period_) : gap < kPeriodLeast;
  // A longer gap is not a longer period: registrations were missed.
  if (is_known && !is_early) return false;
  if (are_alike(gap, before)) {
    if (gap <= kPeriodMost) period_ = std::min(gap, before);
    return false;
  }
  if (!is_early || (is_known && makes_up_for(before, gap, period_))) return false;
  // Learns the period again: another process, or it was wrong.
  period_ = Duration{};
  return true;
}

}  // namespace carillon::jobtracker
