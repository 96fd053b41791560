#pragma once

#include <set>
#include <vector>

#include "jobtracker/store/partitions.h"
#include "jobtracker/store/sql/group_catalog.h"
#include "shared/base/clock.h"
#include "shared/sql/sql_connection.h"

namespace carillon::jobtracker {

// By id: the node groups whose tables may hold rows. The tables of all others are empty. To open
// thousands of empty tables takes a database many seconds.
Result<std::vector<GroupId>> read_waiting_groups(sql::Connection& db);

// Keeps lts_waiting_group for a session, which alone writes the tables of the groups that it owns.
//
// Invariant: a group whose table has rows is in lts_waiting_group.
//
// Thread: its store's.
class WaitingGroups {
 public:
  explicit WaitingGroups(Partitions owned) : owned_(owned) {}

  // A transaction begins; what the one before it added counts only if committed() was called.
  void begin() { added_.clear(); }
  void committed() { known_.merge(added_); }

  // The transaction puts rows into the group's table.
  Status add(sql::Connection& db, GroupId group);
  // Removes groups whose tables are empty by now: looks at a few of them, once a second.
  Status remove_empty(sql::Connection& db, GroupCatalog& groups, SteadyTime now);

 private:
  const Partitions owned_;
  std::set<GroupId> known_;  // the database has them
  std::set<GroupId> added_;  // by this transaction
  std::set<GroupId> busy_;   // rows were put into their tables since the last look
  GroupId last_{};           // that was looked at
  SteadyTime next_look_{};
};

}  // namespace carillon::jobtracker
