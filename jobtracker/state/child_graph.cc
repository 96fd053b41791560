#include "jobtracker/state/child_graph.h"

#include <algorithm>
#include <deque>
#include <set>

#include "shared/base/utf8.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

constexpr std::size_t kDescendantsMax = 10'000;

}  // namespace

ChildGraph::Task ChildGraph::task_of(const std::string& group, const std::string& task_id) {
  return {lower_ascii(group), task_id};
}

const ActiveDefinition* ChildGraph::definition_of(const Task& task) const {
  const Group* group = catalog_.group(task.first);
  if (group == nullptr) return nullptr;
  return catalog_.definition(catalog_.part(group->id, task.second), task.second);
}

std::vector<ChildGraph::Task> ChildGraph::children_of(const Task& task,
                                                      const Foreign& foreign) const {
  std::vector<Task> all;
  const auto add = [&all](const std::vector<Child>& children) {
    for (const Child& child : children) all.push_back(task_of(child.group, child.task_id));
  };
  if (const ActiveDefinition* definition = definition_of(task)) add(definition->spec.children);
  if (const auto read = foreign.find(task); read != foreign.end() && read->second) {
    add(*read->second);
  }
  const auto [first, last] = under_way_.equal_range(task);
  for (auto one = first; one != last; ++one) add(one->second);
  return all;
}

struct ChildGraph::Walk {
  Foreign foreign{};
  std::set<Task> found{};
  std::set<std::string> looked_for{};  // groups that were looked up
  std::deque<Task> to_look_at{};
  OnForeign then{};

  void find(Task task) {
    if (found.insert(task).second) to_look_at.push_back(std::move(task));
  }
};

void ChildGraph::read_foreign(const std::vector<Child>& children, OnForeign then) {
  if (children.empty() || ownership_.has_all()) return then(Foreign{});
  auto walk = std::make_shared<Walk>();
  walk->then = std::move(then);
  for (const Child& child : children) walk->find(task_of(child.group, child.task_id));
  go_on(walk);
}

void ChildGraph::go_on(const std::shared_ptr<Walk>& walk) {
  while (!walk->to_look_at.empty() && walk->found.size() <= kDescendantsMax) {
    const Task task = std::move(walk->to_look_at.front());
    walk->to_look_at.pop_front();
    const Group* group = catalog_.group(task.first);
    if (group == nullptr && walk->looked_for.insert(task.first).second) {
      walk->to_look_at.push_front(task);
      return groups_.find_groups({task.first}, [this, walk](const Status& asked) {
        asked.ok() ? go_on(walk) : walk->then(asked.error());
      });
    }
    const GroupId part = group == nullptr ? GroupId{} : catalog_.part(group->id, task.second);
    if (group != nullptr && !ownership_.has(part)) return look_at(walk, task, part);
    for (Task& child : children_of(task, {})) walk->find(std::move(child));
  }
  walk->then(std::move(walk->foreign));
}

void ChildGraph::look_at(const std::shared_ptr<Walk>& walk, const Task& task, GroupId part) {
  batcher_.ask(ReadDefinition{.group = part, .task_id = task.second},
               [this, walk, task](Result<ReadAnswer> answer) {
                 if (!answer.ok()) return walk->then(answer.error());
                 auto& children = walk->foreign[task];
                 auto& found = std::get<DefinitionAnswer>(answer.value()).definition;
                 if (found) {
                   auto spec = wire::decode_spec(found->spec);
                   children = spec.ok() ? std::move(spec.value().children) : std::vector<Child>{};
                   for (const Child& child : *children) {
                     walk->find(task_of(child.group, child.task_id));
                   }
                 }
                 go_on(walk);
               });
}

Status ChildGraph::check(const JobSpec& spec, const Foreign& foreign) const {
  const Task self = task_of(spec.group, spec.task_id);
  std::map<Task, Task> parents;  // for each descendant, its parent in the search
  std::deque<Task> to_look_at;
  const auto find = [&](const Task& task, const Task& parent) {
    if (parents.emplace(task, parent).second) to_look_at.push_back(task);
  };
  for (const Child& child : spec.children) find(task_of(child.group, child.task_id), self);
  while (!to_look_at.empty() && !parents.contains(self)) {
    if (parents.size() > kDescendantsMax) {
      return Error{ErrorCode::kInvalidArgument, "children: more than " +
                                                    std::to_string(kDescendantsMax) +
                                                    " jobs would be triggered by one"};
    }
    const Task task = std::move(to_look_at.front());
    to_look_at.pop_front();
    for (const Task& child : children_of(task, foreign)) find(child, task);
  }
  if (!parents.contains(self)) return {};
  std::string loop = self.first + "/" + self.second;
  for (Task at = parents.at(self);; at = parents.at(at)) {
    loop.insert(0, at.first + "/" + at.second + " > ");
    if (at == self) break;
  }
  return Error{ErrorCode::kInvalidArgument, "children form a loop: " + loop};
}

std::string ChildGraph::undefined_of(const JobSpec& spec, const Foreign& foreign,
                                     const IsComing& is_coming) const {
  std::string names;
  for (const Child& child : spec.children) {
    const Task task = task_of(child.group, child.task_id);
    const auto read = foreign.find(task);
    if (definition_of(task) != nullptr || (read != foreign.end() && read->second)) continue;
    if (is_coming(child)) continue;
    names += (names.empty() ? "" : ", ") + child.group + "/" + child.task_id;
    if (names.size() > 200) return names + " ...";
  }
  return names;
}

void ChildGraph::begin(const JobSpec& spec) {
  under_way_.emplace(task_of(spec.group, spec.task_id), spec.children);
}

void ChildGraph::end(const std::string& group, const std::string& task_id) {
  const auto found = under_way_.find(task_of(group, task_id));
  if (found != under_way_.end()) under_way_.erase(found);
}

}  // namespace carillon::jobtracker
