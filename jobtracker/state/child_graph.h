#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/state/catalog.h"
#include "jobtracker/state/group_maker.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// The graph of parent and child definitions, which must have no loop. Children need not be defined
// yet, so each new definition is checked against all existing definitions and all that are being
// stored. Definitions of groups that other job trackers own are read from the store.
//
// Thread: the loop.
class ChildGraph {
 public:
  using Task = std::pair<std::string, std::string>;  // group in lower case, task id
  // The children of other job trackers' definitions. None: not defined.
  using Foreign = std::map<Task, std::optional<std::vector<Child>>>;
  using OnForeign = std::function<void(Result<Foreign>)>;
  using IsComing = std::function<bool(const Child&)>;  // it is defined with its parent

  ChildGraph(Catalog& catalog, const Ownership& ownership, GroupMaker& groups, Batcher& batcher)
      : catalog_(catalog), ownership_(ownership), groups_(groups), batcher_(batcher) {}

  // Reads the descendants of these. Calls `then` immediately if there is nothing to read.
  void read_foreign(const std::vector<Child>& children, OnForeign then);

  // Error: kInvalidArgument if this definition closes a loop (it is named) or has too many
  // descendants to check.
  Status check(const JobSpec& spec, const Foreign& foreign) const;
  // The children that are not defined yet, as text; empty: none.
  std::string undefined_of(const JobSpec& spec, const Foreign& foreign,
                           const IsComing& is_coming) const;

  // A definition is being stored. Each begin() needs an end().
  void begin(const JobSpec& spec);
  void end(const std::string& group, const std::string& task_id);
  Sizes sizes() const { return {{"under_way", under_way_.size()}}; }

 private:
  struct Walk;

  static Task task_of(const std::string& group, const std::string& task_id);
  const ActiveDefinition* definition_of(const Task& task) const;
  std::vector<Task> children_of(const Task& task, const Foreign& foreign) const;
  void look_at(const std::shared_ptr<Walk>& walk, const Task& task, GroupId part);
  void go_on(const std::shared_ptr<Walk>& walk);

  Catalog& catalog_;
  const Ownership& ownership_;
  GroupMaker& groups_;
  Batcher& batcher_;
  std::multimap<Task, std::vector<Child>> under_way_;
};

}  // namespace carillon::jobtracker
