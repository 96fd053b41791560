#pragma once

#include <chrono>

namespace carillon {

// A length of time in whole microseconds.
using Duration = std::chrono::microseconds;

// A time of the calendar in UTC, for triggers and texts. May jump when a clock is set.
using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// A time of this process's steady clock, for waits, time-outs and leases. Has no meaning in another
// process.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

}  // namespace carillon
