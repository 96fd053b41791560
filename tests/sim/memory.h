#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "shared/base/sizes.h"
#include "tests/sim/cluster.h"

namespace carillon::sim {

// No process holds more of anything than its configuration allows, or the world has; while nothing
// is wrong and the store idle, nothing waits for it; and once everything has ended, nothing of it
// is left, but for what is kept by design.
//
// Thread: the simulation's.
class Memory {
 public:
  Memory(Cluster& cluster, Broken broken) : cluster_(cluster), broken_(std::move(broken)) {}

  // From time to time.
  void check();
  // No job and no definition has been there for some minutes.
  void check_end();

 private:
  std::size_t places() const;
  Sizes limits_of(const TrackerProcess& tracker) const;
  void check_bounds(const Process& process, const Sizes& sizes, const Sizes& limits,
                    std::size_t others) const;
  void check_at_rest(TrackerProcess& tracker);
  void check_left(const Process& process, const Sizes& sizes, const Sizes& limits) const;

  Cluster& cluster_;
  Broken broken_;
  std::map<const Process*, int> busy_;  // so many times in a row
};

}  // namespace carillon::sim
