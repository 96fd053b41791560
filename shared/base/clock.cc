#include "shared/base/clock.h"

namespace carillon {

WallTime SystemClock::wall_now() const {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

SteadyTime SystemClock::steady_now() const { return std::chrono::steady_clock::now(); }

}  // namespace carillon
