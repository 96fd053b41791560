#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "jobtracker/store/rows.h"
#include "shared/sql/sql_connection.h"

namespace carillon::jobtracker {

// The node groups and their tables, as in lts_node_group. Unknown groups are read again. Groups are
// never deleted.
//
// Invariant: each returned table name was checked and is safe in SQL text.
//
// Thread: its store's.
class GroupCatalog {
 public:
  // Valid as long as the catalog. Error: kNotFound.
  Result<std::string_view> table_of(sql::Connection& db, GroupId group);

  // Reads all groups, by id.
  Result<std::vector<Group>> read_all(sql::Connection& db);

  // Reads a group, case-insensitive. Error: kNotFound.
  Result<Group> find(sql::Connection& db, const std::string& name);

  // Returns the group with this name; creates it with its table if it does not exist. Can be
  // repeated after a crash between table and row. Requires: no transaction (on MySQL, creating a
  // table commits).
  Result<Group> make(sql::Connection& db, const std::string& name, WallTime now);

 private:
  Result<Group> make_once(sql::Connection& db, const std::string& name, WallTime now);

  std::map<GroupId, std::string> tables_{};
};

}  // namespace carillon::jobtracker
