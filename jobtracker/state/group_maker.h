#pragma once

#include <functional>
#include <string>

#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// Makes a node group with its table, when a job or a worker names it for the first time.
// Thread: the loop.
class GroupMaker {
 public:
  virtual ~GroupMaker() = default;
  // `then` comes at once if the group is there already. The group is open for dispatch by then.
  virtual void with_group(const std::string& name,
                          std::function<void(Result<const Group*>)> then) = 0;
};

}  // namespace carillon::jobtracker
