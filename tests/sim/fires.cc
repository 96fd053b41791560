#include "tests/sim/fires.h"

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
                                      .checked_through = row.created_at - Duration{1}});
}

void Fires::was_acted_on(DefinitionId id) {
  const auto found = schedules_.find(id);
  if (found != schedules_.end()) found->second.was_acted_on = true;
}

void Fires::remove(DefinitionId id, bool was_acted_on, WallTime generated_through) {
  if (!was_acted_on) check(id, generated_through);
  schedules_.erase(id);
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
  if (is_again && !schedule.was_acted_on) broken(schedule, fire, "was made a second time");
  schedule.open.insert(fire);
}

void Fires::voided(DefinitionId id, WallTime fire) {
  const auto found = schedules_.find(id);
  if (found == schedules_.end()) return;
  const auto open = found->second.open.find(fire);
  if (open != found->second.open.end()) found->second.open.erase(open);
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
    if (is_twice && !schedule.was_acted_on) broken(schedule, fire, "has a second outcome");
    if (count > 1) fire = schedule.grid.next(fire);
  }
}

void Fires::go_on_at(DefinitionId id, WallTime after, WallTime next) {
  const auto found = schedules_.find(id);
  if (found == schedules_.end()) return;
  Grid& grid = found->second.grid;
  for (WallTime fire = grid.next(after); fire < next; fire = grid.next(fire)) {
    ++found->second.closed[fire];
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
  if (found == schedules_.end()) return;
  Schedule& schedule = found->second;
  if (schedule.was_acted_on) {
    schedule.closed.clear();
    return;
  }
  while (true) {
    const WallTime fire = schedule.grid.next(schedule.checked_through);
    if (fire > generated_through || schedule.open.contains(fire)) return;
    if (schedule.closed.erase(fire) == 0) broken(schedule, fire, "has no outcome, and is not open");
    schedule.checked_through = fire;
  }
}

}  // namespace carillon::sim
