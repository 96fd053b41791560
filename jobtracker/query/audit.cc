// Queries for changes and who made them.
#include <algorithm>
#include <array>
#include <utility>

#include "jobtracker/query/pages.h"
#include "jobtracker/query/query.h"
#include "jobtracker/state/id_source.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kAuditPageMax = 100;  // rows may have large JSON texts
// Rows of a task to search for its last change: runs that were triggered and killed are none.
constexpr std::int64_t kSearched = 50;
constexpr std::array<std::string_view, 7> kChanges{"submit",     "replace", "suspend", "resume",
                                                   "set_script", "tag",     "untag"};

bool is_change_of_task(const AuditRow& row) {
  return row.outcome == "done" &&
         std::find(kChanges.begin(), kChanges.end(), row.action) != kChanges.end();
}

}  // namespace

void QueryDesk::audit(const Asker& asker, const wire::Query& message) {
  const auto after = numbers(message.after);
  ListAudit question{.group = message.group,
                     .task_id = message.task_id,
                     .by = message.by,
                     .before_id = after.empty() ? 0 : after.front(),
                     .limit = std::min(page_of(message), kAuditPageMax)};
  if (const Group* group = catalog_.group(message.group)) question.group = group->name;
  if (message.since_us > 0)
    question.from_id = IdSource::first_of(WallTime{Duration{message.since_us}});
  read_audit(asker, question, {});
}

// Reads on while rows of node groups are left out that the asker may not see, so that the end of a
// page does not tell of them.
void QueryDesk::read_audit(const Asker& asker, ListAudit question, wire::Rows reply) {
  read(asker, question,
       [this, asker, question, reply = std::move(reply)](Result<ReadAnswer> answer) mutable {
         if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
         const auto& rows = std::get<AuditAnswer>(answer.value()).rows;
         for (const AuditRow& row : rows) {
           if (!asker.may_see(row.group)) continue;
           reply.rows.push_back({{"time", format_time(row.at)},
                                 {"by", row.by},
                                 {"kind", row.kind},
                                 {"address", row.address},
                                 {"action", row.action},
                                 {"group", row.group},
                                 {"task_id", row.task_id},
                                 {"outcome", row.outcome},
                                 {"before", row.before},
                                 {"after", row.after}});
         }
         const bool has_more = static_cast<std::int64_t>(rows.size()) == question.limit;
         if (has_more && reply.rows.empty()) {
           question.before_id = rows.back().id;
           return read_audit(asker, question, std::move(reply));
         }
         if (has_more) reply.next = key_text({rows.back().id});
         clients_.answer(asker, std::move(reply));
       });
}

// The answer to `show` has one row.
void QueryDesk::answer_with_last_change(const Asker& asker, GroupId group,
                                        const std::string& task_id, wire::Row row) {
  const Group* const whole = catalog_.whole_of(group);
  const ListAudit question{.group = whole == nullptr ? std::string{} : whole->name,
                           .task_id = task_id,
                           .limit = kSearched};
  read(asker, question, [this, asker, row = std::move(row)](Result<ReadAnswer> answer) mutable {
    if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
    const auto& rows = std::get<AuditAnswer>(answer.value()).rows;
    const auto last = std::find_if(rows.begin(), rows.end(), is_change_of_task);
    const bool is_known = last != rows.end();
    row.emplace_back("changed_by", is_known ? wire::Field{last->by} : wire::Field{});
    row.emplace_back("changed_at", is_known ? wire::Field{format_time(last->at)} : wire::Field{});
    wire::Rows reply;
    reply.rows.push_back(std::move(row));
    clients_.answer(asker, std::move(reply));
  });
}

}  // namespace carillon::jobtracker
