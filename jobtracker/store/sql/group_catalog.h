#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "jobtracker/store/rows.h"
#include "shared/sql/sql_connection.h"

namespace carillon::jobtracker {

// The node groups and their tables, as lts_node_group has them; read again when one is asked for
// that is not known yet. Groups are never deleted.
//
// Invariant: every table name given out was checked, so that it may stand in SQL text.
//
// Thread: its store's.
class GroupCatalog {
 public:
  // Valid as long as the catalog. kNotFound: there is no such group.
  Result<std::string_view> table_of(sql::Connection& db, GroupId group);

  // All groups, read now, by id.
  Result<std::vector<Group>> read_all(sql::Connection& db);

  // Read now, whatever the case of the name. kNotFound: there is no such group.
  Result<Group> find(sql::Connection& db, const std::string& name);

  // The group of this name, made with its table if there is none. Safe to repeat after a crash
  // between table and row. Requires: no transaction (on MySQL making a table commits).
  Result<Group> make(sql::Connection& db, const std::string& name, WallTime now);

 private:
  Result<Group> make_once(sql::Connection& db, const std::string& name, WallTime now);

  std::map<GroupId, std::string> tables_{};
};

}  // namespace carillon::jobtracker
