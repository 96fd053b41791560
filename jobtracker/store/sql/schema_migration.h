#pragma once

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/sql/sql_connection.h"

namespace carillon::jobtracker {

// The version of the tables that this program knows.
int known_schema(const sql::Connection& db);

// Of those that are there; 0: none are.
//
// kInvalidArgument: they are newer than this program. `name` is of the store, for messages.
Result<int> read_schema(sql::Connection& db, const std::string& name);

// Brings the tables to the version that this program knows: the missing migrations in order, each
// recorded; a statement with {table} goes to every group's table. On SQLite each is one
// transaction; on MySQL, where making a table commits, each can be repeated and is recorded last.
// Tables that are not ours are left alone.
// Returns the version that they have then.
//
// Requires: nobody else migrates the same database now, or works on it: what an older program made
// afterwards would be as before.
Result<int> migrate_schema(sql::Connection& db, int found, const std::string& name, WallTime now);

}  // namespace carillon::jobtracker
