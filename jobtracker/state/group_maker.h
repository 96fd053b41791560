#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// Finds and creates node groups. Thread: the loop.
class GroupMaker {
 public:
  virtual ~GroupMaker() = default;
  // Looks up these groups, which another job tracker may have created since the last look-up, and
  // adds them to the catalog. Calls `then` immediately if all are known. Error: the store was not
  // reachable.
  virtual void find_groups(std::vector<std::string> names, std::function<void(Status)> then) = 0;
  // Creates a group with its table when a job or worker names it for the first time. Calls `then`
  // immediately if the group exists. The group is open for dispatch by then.
  virtual void with_group(const std::string& name,
                          std::function<void(Result<const Group*>)> then) = 0;
};

}  // namespace carillon::jobtracker
