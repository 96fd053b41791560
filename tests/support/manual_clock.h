#pragma once

#include "shared/base/clock.h"

namespace carillon {

// A clock that stands still until a test moves it. Starts at a Saturday in 2026.
// Thread: the test's.
class ManualClock final : public Clock {
 public:
  WallTime wall_now() const override { return wall_; }
  SteadyTime steady_now() const override { return steady_; }

  void advance(Duration by) {
    wall_ += by;
    steady_ += by;
  }
  // As when an operator sets the clock: the steady time goes on.
  void set_wall(WallTime to) { wall_ = to; }

 private:
  WallTime wall_ = std::chrono::sys_days{std::chrono::year{2026} / 11 / 21} + std::chrono::hours{8};
  SteadyTime steady_{std::chrono::hours{1}};
};

}  // namespace carillon
