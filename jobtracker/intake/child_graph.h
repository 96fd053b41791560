#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/state/catalog.h"

namespace carillon::jobtracker {

// Which definition triggers which, for those who submit one: it must not trigger itself, by
// whatever way. Children need not be defined yet, so each new definition is checked against all
// that are there and all that are just being stored.
//
// Thread: the loop.
class ChildGraph {
 public:
  explicit ChildGraph(Catalog& catalog) : catalog_(catalog) {}

  // kInvalidArgument: names the loop that this definition would close; or it has more descendants
  // than can be looked through.
  Status check(const JobSpec& spec) const;
  // Those of its children that are not defined by now, for a person; empty: none.
  std::string undefined_of(const JobSpec& spec) const;

  // A definition is on its way to the store. Each begin() is followed by an end().
  void begin(const JobSpec& spec);
  void end(const std::string& group, const std::string& task_id);

 private:
  using Task = std::pair<std::string, std::string>;  // group in lower case, task id

  static Task task_of(const std::string& group, const std::string& task_id);
  const ActiveDefinition* definition_of(const Task& task) const;
  std::vector<Task> children_of(const Task& task) const;

  Catalog& catalog_;
  std::multimap<Task, std::vector<Child>> under_way_;
};

}  // namespace carillon::jobtracker
