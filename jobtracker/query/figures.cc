// Figures of each minute. They are in the store, so any job tracker answers for all groups.
#include <algorithm>
#include <utility>

#include "jobtracker/query/pages.h"
#include "jobtracker/query/query.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker {
namespace {

constexpr Duration kFiguresStepMax = std::chrono::hours{24};

bool is_same_minute(const FiguresRow& one, const FiguresRow& other) {
  return one.minute == other.minute && one.group == other.group;
}

wire::Row figures_row(const FiguresRow& row) {
  return {{"at", format_time(row.minute)},
          {"submitted", row.submitted},
          {"started", row.started},
          {"ended", row.ended},
          {"failed", row.failed},
          {"lateness_p50_ms", row.lateness_p50_ms},
          {"lateness_p95_ms", row.lateness_p95_ms},
          {"lateness_p99_ms", row.lateness_p99_ms},
          {"backlog", row.backlog},
          {"workers", row.workers},
          {"threads", row.threads}};
}

wire::Row figures_row(const FiguresRow& row, std::string group) {
  wire::Row shown = figures_row(row);
  shown.insert(shown.begin() + 1, {"group", std::move(group)});
  return shown;
}

// Adds a later minute of the same step: what was so at the end of a minute is that of the last one.
void add_minute(FiguresRow& step, const FiguresRow& minute) {
  step.backlog = step.workers = step.threads = 0;
  add_figures(step, minute);
}

}  // namespace

void QueryDesk::figures(const Asker& asker, const wire::Query& message) {
  const auto group = group_of(message);
  if (!group.ok()) return clients_.answer(asker, error_reply(group.error()));
  if (message.step_us > 0) return figures_in_steps(asker, message, group.value());
  ListFigures question{.group = group.value(),
                       .since = WallTime{Duration{message.since_us}},
                       .until = WallTime{Duration{message.until_us}},
                       .limit = page_of(message)};
  if (const auto after = numbers(message.after); after.size() == 3) {
    question.after = {WallTime{Duration{after[0]}}, GroupId{static_cast<std::int32_t>(after[1])},
                      GroupId{static_cast<std::int32_t>(after[2])}};
  }
  read(asker, question, [this, asker, limit = question.limit](Result<ReadAnswer> answer) {
    if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
    auto rows = std::move(std::get<FiguresAnswer>(answer.value()).rows);
    wire::Rows reply;
    if (static_cast<std::int64_t>(rows.size()) == limit) {
      // The next page begins with the last group if some of its partitions may be missing.
      const FiguresRow last = rows.back();
      if (catalog_.parts(last.group) > 1 && !is_same_minute(rows.front(), last))
        std::erase_if(rows, [&](const FiguresRow& row) { return is_same_minute(row, last); });
      const auto& [minute, whole, part] = figures_key(rows.back());
      reply.next = key_text({minute.time_since_epoch().count(), whole.value, part.value});
    }
    for (std::size_t i = 0; i < rows.size();) {
      FiguresRow sum = rows[i++];
      for (; i < rows.size() && is_same_minute(rows[i], sum); ++i) add_figures(sum, rows[i]);
      // A removed group has no name.
      if (std::string name = group_name(sum.group); !name.empty())
        reply.rows.push_back(figures_row(sum, std::move(name)));
    }
    clients_.answer(asker, std::move(reply));
  });
}

// Sums over the visible groups, for charts: over a week, there are too many minutes of groups.
void QueryDesk::figures_in_steps(const Asker& asker, const wire::Query& message, GroupId group) {
  constexpr Duration kMinute = std::chrono::minutes{1};
  const auto visible = visible_parts(asker, group);
  if (!visible) return clients_.answer(asker, wire::Rows{});
  const Duration step =
      std::clamp(Duration{message.step_us} / kMinute * kMinute, kMinute, kFiguresStepMax);
  const auto after = numbers(message.after);
  const WallTime since{Duration{after.size() == 1 ? after[0] : message.since_us}};
  const ListFigures question{.since = since,
                             .until = WallTime{Duration{message.until_us}},
                             .is_sum = true,
                             .groups = *visible,
                             .limit = page_of(message) * (step / kMinute)};
  read(asker, question, [this, asker, step, limit = question.limit](Result<ReadAnswer> answer) {
    if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
    const auto& minutes = std::get<FiguresAnswer>(answer.value()).rows;
    std::vector<FiguresRow> steps;
    for (FiguresRow minute : minutes) {
      minute.minute -= minute.minute.time_since_epoch() % step;
      const bool is_same = !steps.empty() && steps.back().minute == minute.minute;
      is_same ? add_minute(steps.back(), minute) : steps.push_back(minute);
    }
    wire::Rows reply;
    if (static_cast<std::int64_t>(minutes.size()) == limit) {
      // More minutes of the last step may follow. A single step has all of its minutes.
      const bool is_single = steps.size() == 1;
      const WallTime next = is_single ? steps.back().minute + step : steps.back().minute;
      if (!is_single) steps.pop_back();
      reply.next = key_text({next.time_since_epoch().count()});
    }
    for (const FiguresRow& one : steps) reply.rows.push_back(figures_row(one));
    clients_.answer(asker, std::move(reply));
  });
}

}  // namespace carillon::jobtracker
