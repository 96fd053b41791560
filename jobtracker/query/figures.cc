// Figures of each minute. They are in the store, so any job tracker answers for all groups.
#include <algorithm>
#include <utility>

#include "jobtracker/query/pages.h"
#include "jobtracker/query/query.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker {
namespace {

bool is_same_minute(const FiguresRow& one, const FiguresRow& other) {
  return one.minute == other.minute && one.group == other.group;
}

// Adds the figures of another partition. Quantiles cannot be combined: the largest is shown.
void add_part(FiguresRow& sum, const FiguresRow& part) {
  sum.submitted += part.submitted;
  sum.started += part.started;
  sum.ended += part.ended;
  sum.failed += part.failed;
  sum.lateness_p50_ms = std::max(sum.lateness_p50_ms, part.lateness_p50_ms);
  sum.lateness_p95_ms = std::max(sum.lateness_p95_ms, part.lateness_p95_ms);
  sum.lateness_p99_ms = std::max(sum.lateness_p99_ms, part.lateness_p99_ms);
  sum.backlog += part.backlog;
  sum.workers += part.workers;
  sum.threads += part.threads;
}

wire::Row figures_row(const FiguresRow& row, std::string group) {
  return {{"at", format_time(row.minute)},
          {"group", std::move(group)},
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

}  // namespace

void QueryDesk::figures(const Asker& asker, const wire::Query& message) {
  const auto group = group_of(message);
  if (!group.ok()) return clients_.answer(asker, error_reply(group.error()));
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
      for (; i < rows.size() && is_same_minute(rows[i], sum); ++i) add_part(sum, rows[i]);
      // A removed group has no name.
      if (std::string name = group_name(sum.group); !name.empty())
        reply.rows.push_back(figures_row(sum, std::move(name)));
    }
    clients_.answer(asker, std::move(reply));
  });
}

}  // namespace carillon::jobtracker
