#pragma once

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/sql/sql_connection.h"

namespace carillon::jobtracker {

struct SchemaState {
  int found = 0;  // the version before; 0: none, these tables are new
  int now = 0;
};

// Brings the tables to the version that this program knows: the missing migrations in order, each
// recorded; a statement with {table} goes to every group's table. On SQLite each is one
// transaction; on MySQL, where making a table commits, each can be repeated and is recorded last.
// Tables that are not ours are left alone.
//
// kInvalidArgument: the tables are newer than this program; nothing was changed. `name` is of the
// store, for messages. Requires: nobody else migrates the same database now.
Result<SchemaState> migrate_schema(sql::Connection& db, const std::string& name, WallTime now);

}  // namespace carillon::jobtracker
