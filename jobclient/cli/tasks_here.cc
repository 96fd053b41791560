#include "jobclient/cli/tasks_here.h"

#include <cstddef>
#include <map>

namespace carillon::cli {
namespace {

constexpr std::size_t kAskedForAlone = 4;

// Nothing of a group that the job tracker has never heard of.
Result<RowPage> page_of(JobClient& client, AskRows ask, const RowFilter& filter) {
  Result<RowPage> page = (client.*ask)(filter);
  if (!page.ok() && page.error().code == ErrorCode::kNotFound) return RowPage{};
  return page;
}

Status find_in_group(JobClient& client, AskRows ask, std::set<TaskKey> tasks,
                     const std::function<void(const TaskKey&, const Row&)>& found) {
  const std::string group = tasks.begin()->first;
  RowFilter filter{.group = group};
  do {
    const RowPage page = CARILLON_TRY(page_of(client, ask, filter));
    for (const Row& row : page.rows) {
      const auto task = tasks.find({group, field_text(row, "task_id")});
      if (task == tasks.end()) continue;
      found(*task, row);
      tasks.erase(task);
    }
    filter.after = page.next;
  } while (!filter.after.empty() && !tasks.empty());
  return {};
}

}  // namespace

Status find_tasks(JobClient& client, AskRows ask, const std::set<TaskKey>& tasks,
                  const std::function<void(const TaskKey&, const Row&)>& found) {
  std::map<std::string, std::set<TaskKey>> groups;
  for (const TaskKey& task : tasks) groups[task.first].insert(task);
  for (const auto& [group, wanted] : groups) {
    if (wanted.size() > kAskedForAlone) {
      CARILLON_TRY(find_in_group(client, ask, wanted, found));
      continue;
    }
    for (const TaskKey& task : wanted) {
      RowFilter filter{.group = group, .task_id = task.second, .limit = 1};
      RowPage page = CARILLON_TRY(page_of(client, ask, filter));
      while (page.rows.empty() && !page.next.empty()) {
        filter.after = page.next;
        page = CARILLON_TRY(page_of(client, ask, filter));
      }
      if (!page.rows.empty()) found(task, page.rows.front());
    }
  }
  return {};
}

}  // namespace carillon::cli
