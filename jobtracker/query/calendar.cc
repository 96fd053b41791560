// Fires to come. They are computed from the compiled schedules in memory. So of several job
// trackers each answers for its own definitions, as for nodes and groups.
//
// A page key is partition : definition : time. The page begins with the fires of that definition
// from that time on, or with the next definition if the time is 0.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "jobtracker/query/definition_filter.h"
#include "jobtracker/query/pages.h"
#include "jobtracker/query/query.h"
#include "shared/base/joined.h"
#include "shared/base/time_text.h"
#include "shared/job/schedule.h"

namespace carillon::jobtracker {
namespace {

// Most definitions and fires of a page, so that the loop is not blocked.
constexpr int kCalendarDefinitionsMax = 4'000;
constexpr std::int64_t kCalendarFiresMax = 20'000;

// The first fire of an active definition at or after `from`. None: it has none to come.
std::optional<WallTime> first_fire_from(ActiveDefinition& one, WallTime now, WallTime from) {
  if (state_word(one, now) != "active") return std::nullopt;
  const WallTime next = one.coming_fire(now);
  if (next == WallTime{}) return std::nullopt;
  const WallTime first = std::max(next, from);
  if (one.row.kind == ScheduleKind::kCron) return one.schedule.next_fire(first - Duration{1});
  if (first == next) return next;
  if (one.row.kind != ScheduleKind::kEvery) return std::nullopt;
  const Duration interval = one.spec.schedule.interval;
  return next + (first - next + interval - Duration{1}) / interval * interval;
}

// Fixed delays, and all that runs once, are not foreseen further.
std::optional<WallTime> fire_after(ActiveDefinition& one, WallTime fire) {
  if (one.row.kind == ScheduleKind::kCron) return one.schedule.next_fire(fire);
  if (one.row.kind == ScheduleKind::kEvery) return fire + one.spec.schedule.interval;
  return std::nullopt;
}

std::int64_t minute_of(WallTime time) {
  return std::chrono::floor<std::chrono::minutes>(time.time_since_epoch()).count();
}

// What a page says about a node group.
struct GroupFires {
  std::map<std::int64_t, std::int64_t> minutes{};  // fires by minute since 1970
  std::set<std::string> zones{};
};

wire::Row calendar_row(std::string group, const GroupFires& fires) {
  std::string minutes;
  for (const auto& [minute, count] : fires.minutes) {
    minutes += minutes.empty() ? "" : " ";
    minutes += std::to_string(minute) + ":" + std::to_string(count);
  }
  return {{"group", std::move(group)},
          {"minutes", std::move(minutes)},
          {"zones", joined({fires.zones.begin(), fires.zones.end()}, ",")}};
}

}  // namespace

// Consecutive partitions that are ours, among those with visible groups. None: the asker was
// answered.
std::optional<QueryDesk::CalendarPage> QueryDesk::calendar_page(const Asker& asker,
                                                                const wire::Query& message) const {
  const auto group = group_of(message);
  if (!group.ok()) {
    clients_.answer(asker, error_reply(group.error()));
    return std::nullopt;
  }
  CalendarPage page;
  auto visible = visible_parts(asker, group.value());
  if (visible) page.groups = std::move(*visible);
  const auto after = numbers(message.after);
  if (after.size() == 3) {
    page.first = static_cast<std::int32_t>(after[0]);
    page.definition = DefinitionId{static_cast<std::int32_t>(after[1])};
    page.time = WallTime{Duration{after[2]}};
  }
  std::map<std::int32_t, GroupId> partitions;
  for (const auto& [id, one] : catalog_.groups()) {
    if (visible && is_of(page.groups, id) && partition_of(id) >= page.first)
      partitions.emplace(partition_of(id), id);
  }
  if (partitions.empty() || message.until_us <= message.since_us) {
    clients_.answer(asker, wire::Rows{});
    return std::nullopt;
  }
  page.first = partitions.begin()->first;
  if (const GroupId first = partitions.begin()->second; !ownership_.has(first)) {
    clients_.answer(asker, ownership_.elsewhere(first, 1));
    return std::nullopt;
  }
  for (const auto& [partition, id] : partitions) {
    if (!ownership_.has(id)) {
      page.next = key_text({partition, 0, 0});
      break;
    }
    page.partitions.set(static_cast<std::size_t>(partition));
  }
  return page;
}

// Calls `on_fire` for the fires of the page, until it returns false or the page is full. Returns
// the key of the next page.
std::string QueryDesk::each_fire(const CalendarPage& page, const wire::Query& message,
                                 const OnDefinition& on_definition, const OnFire& on_fire) const {
  const WallTime now = clock_.now();
  const WallTime since{Duration{message.since_us}};
  const WallTime until{Duration{message.until_us}};
  const bool goes_on = page.time != WallTime{};
  const auto& all = catalog_.definitions();
  std::int64_t fires = 0;
  int looked_at = 0;
  for (auto at = goes_on ? all.lower_bound(page.definition) : all.upper_bound(page.definition);
       at != all.end(); ++at) {
    ActiveDefinition& one = *at->second;
    const auto key = [&](WallTime time) {
      return key_text({page.first, at->first.value, time.time_since_epoch().count()});
    };
    if (has_group(page.partitions, one.row.group) && is_of(page.groups, one.row.group)) {
      const bool is_first = goes_on && at->first == page.definition;
      auto fire = first_fire_from(one, now, is_first ? std::max(since, page.time) : since);
      if (fire) on_definition(one);
      std::int64_t left = one.spec.schedule.count ? *one.spec.schedule.count - one.row.fired : 0;
      for (; fire && *fire < until; fire = fire_after(one, *fire)) {
        const bool is_counted = one.spec.schedule.count && *fire > one.row.generated_through;
        if (is_counted && left-- <= 0) break;
        if (++fires > kCalendarFiresMax || !on_fire(one, *fire)) return key(*fire);
      }
    }
    if (++looked_at >= kCalendarDefinitionsMax) return key(WallTime{});
  }
  return page.next;
}

void QueryDesk::calendar(const Asker& asker, const wire::Query& message) {
  const auto page = calendar_page(asker, message);
  if (!page) return;
  std::map<GroupId, GroupFires> groups;
  wire::Rows reply;
  reply.next = each_fire(
      *page, message,
      [&](const ActiveDefinition& one) {
        const std::string& zone = one.spec.schedule.tz;
        if (one.row.kind == ScheduleKind::kCron && !zone.empty())
          groups[whole(one.row.group)].zones.insert(zone);
      },
      [&](const ActiveDefinition& one, WallTime fire) {
        ++groups[whole(one.row.group)].minutes[minute_of(fire)];
        return true;
      });
  for (const auto& [id, fires] : groups) reply.rows.push_back(calendar_row(group_name(id), fires));
  clients_.answer(asker, std::move(reply));
}

void QueryDesk::fires(const Asker& asker, const wire::Query& message) {
  const auto page = calendar_page(asker, message);
  if (!page) return;
  const std::int64_t rows_max = page_of(message);
  wire::Rows reply;
  reply.next = each_fire(
      *page, message, [](const ActiveDefinition&) {},
      [&](const ActiveDefinition& one, WallTime fire) {
        if (static_cast<std::int64_t>(reply.rows.size()) == rows_max) return false;
        reply.rows.push_back({{"at", format_time(fire)},
                              {"group", group_name(one.row.group)},
                              {"task_id", one.row.task_id}});
        return true;
      });
  clients_.answer(asker, std::move(reply));
}

}  // namespace carillon::jobtracker
