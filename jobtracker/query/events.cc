// What has happened lately, for consoles: ends of runs and changes of jobs, oldest first.
#include <algorithm>
#include <utility>

#include "jobtracker/query/pages.h"
#include "jobtracker/query/query.h"
#include "jobtracker/state/id_source.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kChangesMax = 100;

std::int64_t id_of(const wire::Row& row) {
  return std::stoll(std::get<std::string>(row[0].second));
}

// False: about principals, alarms or the history. A submission of jobs of several groups names
// none.
bool is_about_jobs(const AuditRow& change) {
  return !change.group.empty() || !change.task_id.empty() || change.action.starts_with("submit");
}

}  // namespace

// The newest ones since a time. A log row and an audit row never have the same id.
void QueryDesk::events(const Asker& asker, const wire::Query& message) {
  const auto group = group_of(message);
  if (!group.ok()) return clients_.answer(asker, error_reply(group.error()));
  const ListHistory ends{.groups = parts_of(group.value()),
                         .since = WallTime{Duration{message.since_us}},
                         .limit = page_of(message)};
  ListAudit changes{.group = message.group,
                    .from_id = IdSource::first_of(WallTime{Duration{message.since_us}}),
                    .limit = kChangesMax};
  if (const Group* known = catalog_.group(message.group)) changes.group = known->name;
  read(asker, ends, [this, asker, changes](Result<ReadAnswer> answer) {
    if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
    wire::Rows reply;
    for (const LogEntry& entry : std::get<HistoryAnswer>(answer.value()).entries) {
      wire::Row row{{"id", std::to_string(entry.id)}, {"type", std::string("run.ended")}};
      for (auto& field : log_row(entry)) row.push_back(std::move(field));
      reply.rows.push_back(std::move(row));
    }
    read(asker, changes, [this, asker, reply = std::move(reply)](Result<ReadAnswer> found) mutable {
      if (!found.ok()) return clients_.answer(asker, error_reply(found.error()));
      for (const AuditRow& one : std::get<AuditAnswer>(found.value()).rows) {
        if (!is_about_jobs(one)) continue;
        reply.rows.push_back({{"id", std::to_string(one.id)},
                              {"type", std::string("job.changed")},
                              {"at", format_time(one.at)},
                              {"group", one.group},
                              {"task_id", one.task_id},
                              {"action", one.action},
                              {"by", one.by},
                              {"outcome", one.outcome}});
      }
      std::sort(
          reply.rows.begin(), reply.rows.end(),
          [](const wire::Row& one, const wire::Row& other) { return id_of(one) < id_of(other); });
      clients_.answer(asker, std::move(reply));
    });
  });
}

}  // namespace carillon::jobtracker
