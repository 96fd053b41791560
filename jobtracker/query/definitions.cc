// What is defined, in the order of the definitions' ids.
#include <deque>
#include <utility>

#include "jobtracker/query/pages.h"
#include "jobtracker/query/query.h"
#include "shared/job/schedule.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {

void QueryDesk::list(const Asker& asker, const wire::Query& message) {
  const auto group = group_of(message);
  if (!group.ok()) return clients_.answer(asker, error_reply(group.error()));
  if (is_in_memory(group.value())) {
    Definitions all;
    for (const auto& [id, definition] : catalog_.definitions()) all.emplace(id, definition.get());
    return clients_.answer(asker, definitions_page(message, group.value(), all));
  }
  // Those of the other job trackers are read from the store.
  questions_.ask(
      ReadStart{}, [this, asker, message, group = group.value()](Result<ReadAnswer> answer) {
        if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
        std::deque<ActiveDefinition> others;
        Definitions all;
        for (Definition& row : std::get<StartAnswer>(answer.value()).definitions) {
          ActiveDefinition* ours = catalog_.definition(row.id);
          auto spec = wire::decode_spec(row.spec);
          if (ours != nullptr) all.emplace(row.id, ours);
          if (ours != nullptr || !spec.ok()) continue;
          auto schedule = CompiledSchedule::compile(spec.value().schedule, row.created_at);
          if (!schedule.ok()) continue;
          others.push_back({.row = std::move(row),
                            .spec = std::move(spec).value(),
                            .schedule = std::move(schedule).value()});
          all.emplace(others.back().row.id, &others.back());
        }
        clients_.answer(asker, definitions_page(message, group, all));
      });
}

wire::Rows QueryDesk::definitions_page(const wire::Query& message, GroupId group,
                                       const Definitions& definitions) const {
  const auto after = numbers(message.after);
  const DefinitionId from{after.empty() ? 0 : static_cast<std::int32_t>(after.front())};
  wire::Rows reply;
  const auto parts = parts_of(group);
  const std::int64_t limit = page_of(message);
  for (auto at = definitions.upper_bound(from); at != definitions.end(); ++at) {
    if (!is_of(parts, at->second->row.group)) continue;
    if (!is_of_task(message, at->second->row.task_id)) continue;
    reply.rows.push_back(definition_row(*at->second));
    if (static_cast<std::int64_t>(reply.rows.size()) < limit) continue;
    reply.next = key_text({at->first.value});
    break;
  }
  return reply;
}

}  // namespace carillon::jobtracker
