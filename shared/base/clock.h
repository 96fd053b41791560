#pragma once

#include "carillon/time.h"

namespace carillon {

// The only source of time; a test provides its own. Thread: any.
class Clock {
 public:
  virtual ~Clock() = default;
  // For triggers and texts. May jump when an operator sets the clock.
  virtual WallTime wall_now() const = 0;
  // For durations and time-outs. Never moves back; has no meaning on another host.
  virtual SteadyTime steady_now() const = 0;
};

// The operating system's clocks.
class SystemClock final : public Clock {
 public:
  WallTime wall_now() const override;
  SteadyTime steady_now() const override;
};

}  // namespace carillon
