#pragma once

#include <atomic>

#include "shared/base/clock.h"

namespace carillon {

// A clock that stands still until a test moves it. Starts at a Saturday in 2026.
// Thread: any; one thread at a time moves it.
class ManualClock final : public Clock {
 public:
  WallTime wall_now() const override { return wall_; }
  SteadyTime steady_now() const override { return steady_; }

  void advance(Duration by) {
    wall_ = wall_.load() + by;
    steady_ = steady_.load() + by;
  }
  // As when an operator sets the clock: the steady time goes on.
  void set_wall(WallTime to) { wall_ = to; }

 private:
  std::atomic<WallTime> wall_ =
      WallTime{std::chrono::sys_days{std::chrono::year{2026} / 11 / 21} + std::chrono::hours{8}};
  std::atomic<SteadyTime> steady_ = SteadyTime{std::chrono::hours{1}};
};

}  // namespace carillon
