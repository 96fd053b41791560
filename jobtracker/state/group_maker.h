#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// Knows of all node groups. Thread: the loop.
class GroupMaker {
 public:
  virtual ~GroupMaker() = default;
  // Looks up those of them that another job tracker may have made since the last look: the catalog
  // has by then what is there. `then` comes at once if there are none; an error: the store could
  // not be asked.
  virtual void find_groups(std::vector<std::string> names, std::function<void(Status)> then) = 0;
  // Makes it with its table, when a job or a worker names it for the first time. `then` comes at
  // once if the group is there already. The group is open for dispatch by then.
  virtual void with_group(const std::string& name,
                          std::function<void(Result<const Group*>)> then) = 0;
};

}  // namespace carillon::jobtracker
