#include "jobclient/cli/other_groups.h"

#include <set>

namespace carillon::cli {
namespace {

constexpr std::int64_t kGroupsAskedMax = 200;

bool has_task(JobClient& client, const TaskRef& task) {
  const Result<RowPage> page = client.show(task);
  return page.ok() && !page.value().rows.empty();
}

struct Found {
  std::set<std::string> groups{};
  bool has_ended = false;
};

// Those with a task of this id that is defined, waits or runs; or that of its newest end.
Found groups_with(JobClient& client, const std::string& task_id) {
  Found found;
  std::int64_t asked = 0;
  RowFilter all{};
  do {
    const Result<RowPage> page = client.groups(all);
    if (!page.ok()) return found;
    for (const Row& row : page.value().rows) {
      const std::string group = field_text(row, "group");
      if (++asked > kGroupsAskedMax) break;
      if (has_task(client, {task_id, group})) found.groups.insert(group);
    }
    all.after = page.value().next;
  } while (!all.after.empty() && asked < kGroupsAskedMax);
  if (!found.groups.empty()) return found;
  found.has_ended = true;
  RowFilter filter{.task_id = task_id, .limit = 1};
  Result<RowPage> ended = client.history(filter);
  while (ended.ok() && ended.value().rows.empty() && !ended.value().next.empty()) {
    filter.after = ended.value().next;
    ended = client.history(filter);
  }
  if (!ended.ok()) return found;
  for (const Row& row : ended.value().rows) found.groups.insert(field_text(row, "group"));
  return found;
}

}  // namespace

Error name_other_groups(Context& context, const TaskRef& task, const Error& error) {
  if (error.code != ErrorCode::kNotFound || task.task_id.empty()) return error;
  const auto client = context.client();
  if (!client.ok() || has_task(*client.value(), task)) return error;
  const auto [groups, has_ended] = groups_with(*client.value(), task.task_id);
  if (groups.empty() || groups.contains(task.group)) return error;
  std::string names;
  for (const std::string& group : groups) {
    names += (names.empty() ? "'" : ", '") + group + "'";
  }
  return {error.code, "task '" + task.task_id + "' is not in group '" + task.group + "', it " +
                          (has_ended ? "has ended" : "is") + " in group" +
                          (groups.size() > 1 ? "s " : " ") + names + ": --group " +
                          *groups.begin()};
}

}  // namespace carillon::cli
