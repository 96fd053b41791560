#pragma once

#include <optional>

#include "shared/base/clock.h"
#include "shared/base/log.h"

namespace carillon::jobtracker {

// The clock for triggers: steady time plus an offset that follows the wall clock of this machine,
// or of a shared store. Small differences are slewed, so that it never moves back. A jump of more
// than two seconds is applied when readings over two seconds agree; it may go either way.
//
// Thread: the loop.
class SchedulingClock {
 public:
  SchedulingClock(const Clock& clock, const Logger& log);

  WallTime now() const { return at(clock_.steady_now()); }
  SteadyTime steady_now() const { return clock_.steady_now(); }
  // The steady time at which now() will be `when`.
  SteadyTime steady_at(WallTime when) const;

  // Follows another wall clock from now on. It showed `shown` during a request that took `took`,
  // with `at` in its middle, so the reading has an error of half of `took`. A more precise earlier
  // reading stays unless the two contradict. Call it first before any decision: the first reading
  // is applied directly.
  void follow(WallTime shown, SteadyTime at, Duration took);

  // Compares with the wall clock; called every 200 ms. Returns how far the clock was set, if it
  // jumped: then all decisions about "due" must be made again. 0: no jump.
  Duration adjust();

 private:
  // The followed clock.
  struct Followed {
    Duration offset;  // wall minus steady
    Duration error;   // largest error
    SteadyTime at;    // of that reading; the error grows with time
  };

  WallTime at(SteadyTime steady) const;
  WallTime wall_at(SteadyTime steady) const;

  const Clock& clock_;
  const Logger& log_;
  Duration offset_;                   // of now(): wall minus steady
  std::optional<Followed> followed_;  // none: uses clock_
  SteadyTime adjusted_at_;
  bool jump_seen_ = false;
  Duration jump_{};  // the first observed difference
  SteadyTime jump_seen_at_{};
};

}  // namespace carillon::jobtracker
