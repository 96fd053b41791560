#pragma once

#include <optional>
#include <vector>

#include "carillon/job_spec.h"

namespace carillon::sim {

// When a schedule fires, told by tests/support/cron_reference.h and by plain counting: no code of
// the product but its zones.
//
// Thread: the simulation's.
class Grid {
 public:
  // Requires: a cron with its zone, or an interval.
  Grid(const Schedule& schedule, WallTime submitted);

  // The first fire later than that.
  WallTime next(WallTime after);

 private:
  const std::vector<WallTime>& fires_of(std::chrono::sys_days day) const;

  Schedule schedule_;
  WallTime first_{};
};

}  // namespace carillon::sim
