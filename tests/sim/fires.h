#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "jobtracker/store/rows.h"
#include "tests/sim/broken.h"
#include "tests/sim/grid.h"

namespace carillon::sim {

// The fires of every schedule, held against its grid: each that has come is open, or has exactly
// one outcome. Of those that came while it was suspended: none.
//
// Thread: the simulation's.
class Fires {
 public:
  explicit Fires(Broken broken) : broken_(std::move(broken)) {}

  void add(const jobtracker::Definition& row, const JobSpec& spec);
  // It is suspended. Until then each fire has come to something.
  void suspended(DefinitionId id, WallTime at);
  // It goes on with what comes after `through`.
  void resumed(DefinitionId id, WallTime now, WallTime through);
  // Each fire has come to something up to then.
  void remove(DefinitionId id, WallTime through);

  void opened(DefinitionId id, WallTime fire);
  void voided(DefinitionId id, WallTime fire);
  // A fire that does not come any more has an outcome. What is later than `come` cannot have
  // come yet, but by a clock that was set back since: it may have, then, as nobody knows after a
  // restart.
  void called_off(DefinitionId id, WallTime fire, WallTime come);
  // `count` fires from there on have ended.
  void closed(DefinitionId id, WallTime fire, std::int64_t count);
  void check(DefinitionId id, WallTime generated_through);
  // That has no outcome yet.
  std::optional<WallTime> next(DefinitionId id, WallTime after);

 private:
  struct Schedule {
    std::string name{};
    Grid grid;
    std::optional<WallTime> suspended_at{};
    WallTime before_all{};  // its creation
    WallTime checked_through{};
    std::multiset<WallTime> open{};
    std::map<WallTime, int> closed{};
  };

  void check_through(Schedule& schedule, WallTime through) const;
  void broken(const Schedule& schedule, WallTime fire, const std::string& what) const;

  Broken broken_;
  std::map<DefinitionId, Schedule> schedules_;  // that have a grid
};

}  // namespace carillon::sim
