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

// The fires of every schedule, held against its grid: each that was generated is open, or has
// exactly one outcome. Of a schedule that was suspended and resumed: at most one.
//
// Thread: the simulation's.
class Fires {
 public:
  explicit Fires(Broken broken) : broken_(std::move(broken)) {}

  void add(const jobtracker::Definition& row, const JobSpec& spec);
  void remove(DefinitionId id, bool was_acted_on, WallTime generated_through);
  void was_acted_on(DefinitionId id);

  void opened(DefinitionId id, WallTime fire);
  void voided(DefinitionId id, WallTime fire);
  // `count` fires from there on have ended.
  void closed(DefinitionId id, WallTime fire, std::int64_t count);
  // No fires are expected between the two.
  void go_on_at(DefinitionId id, WallTime after, WallTime next);
  void check(DefinitionId id, WallTime generated_through);
  // That has no outcome yet.
  std::optional<WallTime> next(DefinitionId id, WallTime after);

 private:
  struct Schedule {
    std::string name{};
    Grid grid;
    bool was_acted_on = false;
    WallTime checked_through{};
    std::multiset<WallTime> open{};
    std::map<WallTime, int> closed{};
  };

  void broken(const Schedule& schedule, WallTime fire, const std::string& what) const;

  Broken broken_;
  std::map<DefinitionId, Schedule> schedules_;  // that have a grid
};

}  // namespace carillon::sim
