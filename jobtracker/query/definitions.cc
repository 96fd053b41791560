// Lists definitions in id order.
#include <map>
#include <utility>

#include "jobtracker/query/definition_filter.h"
#include "jobtracker/query/pages.h"
#include "jobtracker/query/query.h"
#include "shared/job/schedule.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

// Most definitions in memory to check for one page, so that the loop is not blocked.
constexpr int kLookedAtMax = 8'000;

}  // namespace

void QueryDesk::list(const Asker& asker, const wire::Query& message) {
  const auto group = group_of(message);
  if (!group.ok()) return clients_.answer(asker, error_reply(group.error()));
  const auto visible = visible_parts(asker, group.value());
  if (!visible) return clients_.answer(asker, wire::Rows{});
  const auto after = numbers(message.after);
  const ListDefinitions question{
      .groups = *visible,
      .task_id = message.task_id,
      .after = DefinitionId{after.empty() ? 0 : static_cast<std::int32_t>(after.front())},
      .limit = page_of(message)};
  const DefinitionFilter filter(message);
  if (is_in_memory(group.value())) {
    return clients_.answer(asker, question.task_id.empty() ? definitions_page(question, filter)
                                                           : definitions_of_task(question, filter));
  }
  // Definitions of other job trackers are read from the store. Of many, few may match.
  ListDefinitions stored = question;
  if (!filter.is_empty()) stored.limit = kPageMax;
  read(asker, stored, [this, asker, filter, rows_max = question.limit](Result<ReadAnswer> answer) {
    if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
    auto& found = std::get<DefinitionsAnswer>(answer.value());
    clients_.answer(asker, stored_page(std::move(found), filter, rows_max));
  });
}

wire::Rows QueryDesk::definitions_page(const ListDefinitions& question,
                                       const DefinitionFilter& filter) const {
  const WallTime now = clock_.now();
  wire::Rows reply;
  const auto& all = catalog_.definitions();
  int looked_at = 0;
  for (auto at = all.upper_bound(question.after); at != all.end(); ++at) {
    const auto& [id, one] = *at;
    if (is_of(question.groups, one->row.group) && filter.matches(*one, now))
      reply.rows.push_back(definition_row(*one));
    const bool is_full = static_cast<std::int64_t>(reply.rows.size()) == question.limit;
    if (!is_full && ++looked_at < kLookedAtMax) continue;
    reply.next = key_text({id.value});
    break;
  }
  return reply;
}

wire::Rows QueryDesk::definitions_of_task(const ListDefinitions& question,
                                          const DefinitionFilter& filter) const {
  std::map<DefinitionId, ActiveDefinition*> found;
  const auto look_in = [&](GroupId group) {
    ActiveDefinition* one = catalog_.definition(group, question.task_id);
    if (one != nullptr && one->row.id > question.after && filter.matches(*one, clock_.now()))
      found.emplace(one->row.id, one);
  };
  for (const GroupId group : question.groups) look_in(group);
  if (question.groups.empty()) {
    for (const auto& [id, group] : catalog_.groups()) look_in(id);
  }
  wire::Rows reply;
  for (const auto& [id, one] : found) {
    reply.rows.push_back(definition_row(*one));
    if (static_cast<std::int64_t>(reply.rows.size()) < question.limit) continue;
    reply.next = key_text({id.value});
    break;
  }
  return reply;
}

// In store order, where owned ones are between others; for owned ones the values in memory.
wire::Rows QueryDesk::stored_page(DefinitionsAnswer found, const DefinitionFilter& filter,
                                  std::int64_t rows_max) const {
  const WallTime now = clock_.now();
  wire::Rows reply;
  if (found.next) reply.next = key_text({found.next.value});
  for (Definition& row : found.definitions) {
    const DefinitionId id = row.id;
    auto other = catalog_.definition(id) == nullptr ? definition_of(std::move(row)) : std::nullopt;
    ActiveDefinition* const one = other ? &*other : catalog_.definition(id);
    if (one != nullptr && filter.matches(*one, now)) reply.rows.push_back(definition_row(*one));
    if (static_cast<std::int64_t>(reply.rows.size()) < rows_max) continue;
    reply.next = key_text({id.value});
    break;
  }
  return reply;
}

std::optional<ActiveDefinition> QueryDesk::definition_of(Definition row) const {
  if (ownership_.has(row.group)) return std::nullopt;
  // A node group that another job tracker has just made is known after the next look.
  if (catalog_.whole_of(row.group) == nullptr) return std::nullopt;
  auto spec = wire::decode_spec(row.spec);
  if (!spec.ok()) return std::nullopt;
  auto schedule = CompiledSchedule::compile(spec.value().schedule, row.created_at);
  if (!schedule.ok()) return std::nullopt;
  return ActiveDefinition{.row = std::move(row),
                          .spec = std::move(spec).value(),
                          .schedule = std::move(schedule).value()};
}

}  // namespace carillon::jobtracker
