#include "tests/sim/grid.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "shared/base/assert.h"
#include "shared/job/zone.h"
#include "tests/support/cron_reference.h"

namespace carillon::sim {

using std::chrono::days;
using std::chrono::sys_days;

Grid::Grid(const Schedule& schedule, WallTime submitted)
    : schedule_(schedule), first_(schedule.first.value_or(submitted)) {}

WallTime Grid::next(WallTime after) {
  if (schedule_.kind == ScheduleKind::kEvery) {
    if (after < first_) return first_;
    const auto gone = (after - first_) / schedule_.interval;
    return first_ + (gone + 1) * schedule_.interval;
  }
  for (sys_days day = std::chrono::floor<days>(after);; day += days{1}) {
    const std::vector<WallTime>& fires = fires_of(day);
    const auto found = std::upper_bound(fires.begin(), fires.end(), after);
    if (found != fires.end()) return *found;
  }
}

// The reference is slow, and the worlds of all seeds have the same few schedules and days.
const std::vector<WallTime>& Grid::fires_of(sys_days day) const {
  static std::map<std::tuple<std::string, std::string, DstRule, sys_days>, std::vector<WallTime>>
      known;
  const std::tuple key{schedule_.cron, schedule_.tz, schedule_.dst, day};
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  auto zone = Zone::load(schedule_.tz);
  CARILLON_ASSERT(zone.ok(), "the workload names zones that there are");
  const testing::CronReference reference(schedule_.cron);
  const WallTime begin = day;
  return known[key] = reference.fires(begin - Duration{1}, begin + days{1} - Duration{1},
                                      zone.value(), schedule_.dst);
}

}  // namespace carillon::sim
