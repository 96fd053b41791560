#pragma once

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/sql/sql_connection.h"

namespace carillon::jobtracker {

// The schema version of this program.
int known_schema(const sql::Connection& db);

// The schema version of the database; 0: it has no tables.
//
// Error: kInvalidArgument if it is newer than this program. `name`: the store's, for messages.
Result<int> read_schema(sql::Connection& db, const std::string& name);

// Migrates the tables to the schema version of this program: applies the missing migrations in
// order and records each. A statement with {table} is applied to each group's table. On SQLite each
// migration is one transaction. On MySQL, where creating a table commits, each can be repeated and
// is recorded last. Other tables are not changed. Returns the resulting version.
//
// Requires: no other process migrates or uses the database: rows that an older program adds later
// would not be migrated.
Result<int> migrate_schema(sql::Connection& db, int found, const std::string& name, WallTime now);

}  // namespace carillon::jobtracker
