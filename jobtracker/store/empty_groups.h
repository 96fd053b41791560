#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "jobtracker/store/batch.h"
#include "jobtracker/store/settled_log.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// Which node groups' tables are known to hold nothing, so that nobody asks them: with thousands of
// groups, most of which are empty, that takes seconds.
//
// Whatever is posted may put a row into a group's table: the group counts as unknown then. A group
// is known to be empty when its table was found empty by a question that was asked after all that
// had been posted for it was stored.
//
// Thread: the batcher's.
class EmptyGroups {
 public:
  using Epoch = SettledLog::Epoch;

  void posted(const Operation& operation, Epoch epoch);

  bool contains(GroupId group) const { return empty_.contains(group); }
  std::vector<GroupId> all() const { return {empty_.begin(), empty_.end()}; }

  // Whether all that was posted for the group is stored. `open`: the oldest epoch that may have
  // changes which are not.
  bool is_settled(GroupId group, Epoch open) const;
  // Its table was empty, by a question that was asked when `open` was.
  void found_empty(GroupId group, Epoch open);

  Sizes sizes() const { return {{"empty", empty_.size()}, {"last_puts", last_puts_.size()}}; }

 private:
  void put(const WaitingJob& job, Epoch epoch);

  std::set<GroupId> empty_;
  std::unordered_map<GroupId, Epoch> last_puts_;
};

}  // namespace carillon::jobtracker
