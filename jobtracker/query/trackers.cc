// The job trackers of the cluster, and alarms that are on.
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

// Each job tracker watches its own groups: a client asks all by the pages.
void QueryDesk::alarms(const Asker& asker, const wire::Query& message) {
  const auto page = group_page(asker, message);
  if (!page) return;
  wire::Rows reply{.next = page->next};
  for (const FiringAlarm& one : sources_.alarms()) {
    if (!page->groups.contains(one.group)) continue;
    reply.rows.push_back({{"group", group_name(one.group)},
                          {"rule", one.rule},
                          {"state", std::string("firing")},
                          {"since", format_time(one.since)},
                          {"message", one.message}});
  }
  clients_.answer(asker, std::move(reply));
}

// The same at each job tracker with the same options.
void QueryDesk::alarm_rules(const Asker& asker) {
  wire::Rows reply;
  for (const AlarmRuleText& one : sources_.alarm_rules())
    reply.rows.push_back({{"group", one.group}, {"rule", one.rule}, {"limit", one.limit}});
  clients_.answer(asker, std::move(reply));
}

}  // namespace carillon::jobtracker
