#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "jobtracker/store/batch.h"
#include "jobtracker/store/settled_log.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// Knows which node groups' tables are empty, so that they need not be read: with thousands of
// mostly empty groups, that takes seconds.
//
// Each posted operation may add a row to a group's table, and makes the group unknown. A group is
// known to be empty when a read found its table empty, and all operations that were posted for it
// had been stored when the read was sent.
//
// Thread: the batcher's.
class EmptyGroups {
 public:
  using Epoch = SettledLog::Epoch;

  void posted(const Operation& operation, Epoch epoch);

  bool contains(GroupId group) const { return empty_.contains(group); }
  std::vector<GroupId> all() const { return {empty_.begin(), empty_.end()}; }

  // Whether all operations of the group are stored. `open`: the oldest epoch that may have pending
  // operations.
  bool is_settled(GroupId group, Epoch open) const;
  // A read found its table empty. `open`: the epoch when the read was sent.
  void found_empty(GroupId group, Epoch open);

  Sizes sizes() const { return {{"empty", empty_.size()}, {"last_puts", last_puts_.size()}}; }

 private:
  void put(const WaitingJob& job, Epoch epoch);

  std::set<GroupId> empty_;
  std::unordered_map<GroupId, Epoch> last_puts_;
};

}  // namespace carillon::jobtracker
