#include "tests/sim/fires.h"

#include <algorithm>
#include <utility>

#include "shared/base/time_text.h"

namespace carillon::sim {

void Fires::broken(const Schedule& schedule, WallTime fire, const std::string& what) const {
  broken_("task " + schedule.name + ", fire " + format_time(fire) + ": " + what);
}

void Fires::add(const jobtracker::Definition& row, const JobSpec& spec) {
  if (row.kind != ScheduleKind::kCron && row.kind != ScheduleKind::kEvery) return;
  schedules_.emplace(row.id, Schedule{.name = row.task_id,
                                      .grid = Grid(spec.schedule, row.created_at),
                                      .before_all = row.created_at - Duration{1},
                                      .checked_through = row.created_at - Duration{1}});
}

void Fires::suspended(DefinitionId id, WallTime at) {
  const auto found = schedules_.find(id);
  if (found == schedules_.end()) return;
  Schedule& schedule = found->second;
  if (schedule.suspended_at) return;  // And now in quarantine.
  check_through(schedule, at);
  schedule.suspended_at = at;
}

void Fires::resumed(DefinitionId id, WallTime now, WallTime through) {
  const auto found = schedules_.find(id);
  if (found == schedules_.end() || !found->second.suspended_at) return;
  Schedule& schedule = found->second;
  const WallTime suspended_at = *std::exchange(schedule.suspended_at, std::nullopt);
  if (now < suspended_at) {  // The clock was set back: what has ended may come again.
    schedule.checked_through = std::min(schedule.checked_through, through);
    schedule.closed.erase(schedule.closed.upper_bound(through), schedule.closed.end());
  }
  // It was set back to before its creation: nothing of it has come then.
  if (schedule.checked_through == schedule.before_all && through < schedule.before_all)
    schedule.checked_through = schedule.before_all = through;
  for (WallTime fire = schedule.grid.next(suspended_at); fire <= through;
       fire = schedule.grid.next(fire)) {
    if (!schedule.open.contains(fire)) schedule.closed.emplace(fire, 1);
  }
}

void Fires::remove(DefinitionId id, WallTime through) {
  const auto found = schedules_.find(id);
  if (found == schedules_.end()) return;
  if (!found->second.suspended_at) check_through(found->second, through);
  schedules_.erase(found);
}

void Fires::opened(DefinitionId id, WallTime fire) {
  const auto found = schedules_.find(id);
  if (found == schedules_.end()) return;
  Schedule& schedule = found->second;
  if (schedule.grid.next(fire - Duration{1}) != fire) {
    broken(schedule, fire, "is not one of its schedule");
  }
  const bool is_again = fire <= schedule.checked_through || schedule.open.contains(fire) ||
                        schedule.closed.contains(fire);
  if (is_again) broken(schedule, fire, "was made a second time");
  schedule.open.insert(fire);
}

void Fires::voided(DefinitionId id, WallTime fire) {
  const auto found = schedules_.find(id);
  if (found == schedules_.end()) return;
  const auto open = found->second.open.find(fire);
  if (open != found->second.open.end()) found->second.open.erase(open);
}

void Fires::called_off(DefinitionId id, WallTime fire, WallTime come) {
  const auto found = schedules_.find(id);
  if (found == schedules_.end()) return;
  const bool has_come =
      fire <= found->second.checked_through || found->second.closed.contains(fire);
  if (has_come && fire > come) return;
  if (found->second.open.contains(fire)) {
    broken(found->second, fire, "is called off, and has come to a run");
  }
  closed(id, fire, 1);
}

void Fires::closed(DefinitionId id, WallTime fire, std::int64_t count) {
  const auto found = schedules_.find(id);
  if (found == schedules_.end()) return;
  Schedule& schedule = found->second;
  for (; count > 0; --count) {
    if (schedule.grid.next(fire - Duration{1}) != fire) {
      broken(schedule, fire, "has an outcome, but is not one of its schedule");
    }
    const auto open = schedule.open.find(fire);
    if (open != schedule.open.end()) schedule.open.erase(open);
    const bool is_twice = ++schedule.closed[fire] > 1 || fire <= schedule.checked_through;
    if (is_twice) broken(schedule, fire, "has a second outcome");
    if (count > 1) fire = schedule.grid.next(fire);
  }
}

std::optional<WallTime> Fires::next(DefinitionId id, WallTime after) {
  const auto found = schedules_.find(id);
  if (found == schedules_.end()) return std::nullopt;
  Schedule& schedule = found->second;
  WallTime fire = schedule.grid.next(after);
  while (schedule.closed.contains(fire)) fire = schedule.grid.next(fire);
  return fire;
}

void Fires::check(DefinitionId id, WallTime generated_through) {
  const auto found = schedules_.find(id);
  if (found == schedules_.end() || found->second.suspended_at) return;
  Schedule& schedule = found->second;
  while (true) {
    const WallTime fire = schedule.grid.next(schedule.checked_through);
    if (fire > generated_through || schedule.open.contains(fire)) return;
    if (schedule.closed.erase(fire) == 0) broken(schedule, fire, "has no outcome, and is not open");
    schedule.checked_through = fire;
  }
}

// Also beyond what is open.
void Fires::check_through(Schedule& schedule, WallTime through) const {
  for (WallTime fire = schedule.grid.next(schedule.checked_through); fire <= through;
       fire = schedule.grid.next(fire)) {
    if (!schedule.open.contains(fire) && !schedule.closed.contains(fire)) {
      broken(schedule, fire, "has no outcome, and is not open");
    }
  }
}

}  // namespace carillon::sim
