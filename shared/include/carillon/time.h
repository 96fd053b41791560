#pragma once

#include <chrono>

namespace carillon {

// Every length of time in Carillon, in whole microseconds.
using Duration = std::chrono::microseconds;

// A point on the calendar, in UTC: for triggers and for people. May jump when a clock is set.
using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// A point on this process's own steady clock: for waits, time-outs and leases. Means nothing to
// another process.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

}  // namespace carillon
