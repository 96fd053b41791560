// The job trackers of the cluster, and alarms.
#include <map>
#include <utility>

#include "jobtracker/query/pages.h"
#include "jobtracker/query/query.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker {

// As this one saw them last. Without a shared store there are none to see.
void QueryDesk::trackers(const Asker& asker) {
  wire::Rows reply;
  for (const Ownership::Tracker& one : ownership_.seen()) {
    std::int64_t groups = 0;
    for (const auto& [id, group] : catalog_.groups()) {
      if (whole(id) == id && has_group(one.partitions, id)) ++groups;
    }
    reply.rows.push_back({{"name", one.name},
                          {"address", one.address},
                          {"partitions", static_cast<std::int64_t>(one.partitions.count())},
                          {"groups", groups}});
  }
  clients_.answer(asker, std::move(reply));
}

// Each job tracker watches its own groups: a client asks all by the pages. A silenced group without
// alarms has a row without a rule.
void QueryDesk::alarms(const Asker& asker, const wire::Query& message) {
  const auto page = group_page(asker, message);
  if (!page) return;
  wire::Rows reply{.next = page->next};
  for (const FiringAlarm& one : sources_.alarms()) {
    if (!page->groups.contains(one.group)) continue;
    const auto& until = one.silenced_until;
    reply.rows.push_back(
        {{"group", group_name(one.group)},
         {"rule", one.rule},
         {"state", std::string(until ? "silenced" : "firing")},
         {"since", one.rule.empty() ? wire::Field{} : wire::Field{format_time(one.since)}},
         {"until", until ? wire::Field{format_time(*until)} : wire::Field{}},
         {"message", one.message}});
  }
  clients_.answer(asker, std::move(reply));
}

// The same at each job tracker with the same options.
void QueryDesk::alarm_rules(const Asker& asker) {
  wire::Rows reply;
  for (const AlarmRuleText& one : sources_.alarm_rules()) {
    reply.rows.push_back({{"group", one.group},
                          {"rule", one.rule},
                          {"limit", one.limit},
                          {"recipients", one.recipients}});
  }
  clients_.answer(asker, std::move(reply));
}

// It is in the store, so any job tracker answers for all groups.
void QueryDesk::alarm_history(const Asker& asker, const wire::Query& message) {
  const auto group = group_of(message);
  if (!group.ok()) return clients_.answer(asker, error_reply(group.error()));
  const auto after = numbers(message.after);
  read_alarm_history(asker, {.group = group.value(),
                             .before_id = after.empty() ? 0 : after.front(),
                             .limit = page_of(message)});
}

// Reads on while all rows are of node groups that the asker may not see, so that the end of a page
// does not tell of them.
void QueryDesk::read_alarm_history(const Asker& asker, ListAlarmHistory question) {
  read(asker, question, [this, asker, question](Result<ReadAnswer> answer) mutable {
    if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
    const auto& rows = std::get<AlarmHistoryAnswer>(answer.value()).rows;
    wire::Rows reply;
    for (const AlarmHistoryRow& row : rows) {
      const std::string group = group_name(row.group);
      if (!asker.may_see(group)) continue;
      reply.rows.push_back({{"id", std::to_string(row.id)},
                            {"at", format_time(row.at)},
                            {"group", group},
                            {"rule", row.rule},
                            {"recipients", row.recipient},
                            {"state", std::string(to_string(row.state))},
                            {"message", row.message}});
    }
    const bool has_more = static_cast<std::int64_t>(rows.size()) == question.limit;
    if (has_more && reply.rows.empty()) {
      question.before_id = rows.back().id;
      return read_alarm_history(asker, question);
    }
    if (has_more) reply.next = key_text({rows.back().id});
    clients_.answer(asker, std::move(reply));
  });
}

}  // namespace carillon::jobtracker
