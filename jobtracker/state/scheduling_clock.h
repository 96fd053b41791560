#pragma once

#include <optional>

#include "shared/base/clock.h"
#include "shared/base/log.h"

namespace carillon::jobtracker {

// The time that triggers are compared with: steady time plus an offset that follows the wall
// clock, this machine's or that of the store which several machines share. Small differences are
// slewed, so that it never goes back; a jump of more than two seconds is believed once readings
// over two seconds agree, and then it may go either way.
//
// Thread: the loop.
class SchedulingClock {
 public:
  SchedulingClock(const Clock& clock, const Logger& log);

  WallTime now() const { return at(clock_.steady_now()); }
  SteadyTime steady_now() const { return clock_.steady_now(); }
  // The steady moment at which now() will be `when`.
  SteadyTime steady_at(WallTime when) const;

  // From now on the wall clock is another one. It showed that time at some moment of a question
  // that took so long, `at` being the middle of it. So it is known no better than by half of that,
  // and what is known better already stays as it is unless the two contradict each other. The first
  // time it is taken as it is: call it before anything is decided.
  void follow(WallTime shown, SteadyTime at, Duration took);

  // Compares with the wall clock; called every 200 ms or so. By how much the time was set, if by
  // more than a slew: everything that rests on "due" must be looked at again. 0: it was not.
  Duration adjust();

 private:
  // The clock that is followed.
  struct Followed {
    Duration offset;  // wall minus steady
    Duration error;   // it may be off by so much
    SteadyTime at;    // as of then; it grows
  };

  WallTime at(SteadyTime steady) const;
  WallTime wall_at(SteadyTime steady) const;

  const Clock& clock_;
  const Logger& log_;
  Duration offset_;                   // of now(): wall minus steady
  std::optional<Followed> followed_;  // none: clock_
  SteadyTime adjusted_at_;
  bool jump_seen_ = false;
  Duration jump_{};  // the difference that was first seen
  SteadyTime jump_seen_at_{};
};

}  // namespace carillon::jobtracker
