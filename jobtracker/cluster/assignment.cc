#include "jobtracker/cluster/assignment.h"

#include <algorithm>
#include <map>
#include <utility>

namespace carillon::jobtracker {
namespace {

// Used partitions first; the unused ones break ties, for future groups.
using Load = std::pair<int, int>;

Load& operator+=(Load& load, const PartitionShare& partition) {
  ++(partition.is_used ? load.first : load.second);
  return load;
}

using Loads = std::map<SessionId, Load>;

Loads loads_of(const std::vector<SessionId>& trackers,
               const std::vector<PartitionShare>& partitions) {
  Loads loads;
  for (const SessionId tracker : trackers) loads[tracker];
  for (const PartitionShare& partition : partitions) {
    const auto found = loads.find(partition.owner);
    if (found != loads.end()) found->second += partition;
  }
  return loads;
}

// At equal loads the lower session. `by`: the more important number.
SessionId least(const Loads& loads, bool by_used) {
  const auto key = [by_used](const auto& one) {
    return by_used ? one.second : Load{one.second.second, one.second.first};
  };
  return std::min_element(loads.begin(), loads.end(),
                          [&](const auto& a, const auto& b) { return key(a) < key(b); })
      ->first;
}

}  // namespace

Partitions to_take(SessionId us, const std::vector<SessionId>& trackers,
                   const std::vector<PartitionShare>& partitions, Duration unowned_for) {
  Loads loads = loads_of(trackers, partitions);
  Partitions taken;
  if (!loads.contains(us)) return taken;
  for (const bool used : {true, false}) {
    for (std::size_t i = 0; i < partitions.size(); ++i) {
      if (partitions[i].owner || partitions[i].is_used != used) continue;
      const SessionId taker = least(loads, used);
      loads[taker] += partitions[i];
      if (taker == us || unowned_for >= kOthersTurn) taken.set(i);
    }
  }
  return taken;
}

Partitions to_give(SessionId us, const std::vector<SessionId>& trackers,
                   const std::vector<PartitionShare>& partitions) {
  const Loads loads = loads_of(trackers, partitions);
  Partitions given;
  const auto own = loads.find(us);
  if (own == loads.end()) return given;
  const auto give = [&](bool used, int count) {
    for (std::size_t i = 0; i < partitions.size() && count > 0; ++i) {
      if (partitions[i].owner != us || partitions[i].is_used != used) continue;
      given.set(i);
      --count;
    }
  };
  const Load& used_least = loads.at(least(loads, true));
  const int used = (own->second.first - used_least.first) / 2;
  give(true, used);
  // Unused partitions are not worth a rebalance of their own, unless another job tracker has far
  // fewer.
  const int unused = (own->second.second - loads.at(least(loads, false)).second) / 2;
  if (used > 0 || unused >= kPartitions / 8) give(false, unused);
  return given;
}

Partitions first_portion(const Partitions& partitions, const DefinitionCounts& definitions,
                         std::size_t most) {
  Partitions portion;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < definitions.size(); ++i) {
    const bool fits = sum == 0 || sum + definitions[i] <= most;
    if (!partitions.test(i) || !(fits || definitions[i] == 0)) continue;
    portion.set(i);
    sum += definitions[i];
  }
  return portion;
}

}  // namespace carillon::jobtracker
