#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobtracker/store/memory_tables.h"
#include "shared/sql/sql_connection.h"

// Whatever a database keeps, as text: also what no read of a store ever shows.
namespace carillon::jobtracker {

struct StoredTable {
  std::vector<std::string> columns{};
  std::vector<std::string> rows{};  // sorted; each a line with a value for each of the columns
};
// By the names of docs/reference/tables.md. A table without rows may be missing.
using StoredTables = std::map<std::string, StoredTable>;

// What a database in SQL has to keep when one in memory keeps this: docs/reference/tables.md once
// more.
StoredTables rows_in_memory(const MemoryTables& tables);

// What it keeps, in the columns of `like`. A table or a column that is not in there is a
// difference.
Result<StoredTables> rows_in_sql(sql::Connection& db, const StoredTables& like);

// Empty: they are the same. Else the first few lines that only one of them has.
std::string difference(const StoredTables& memory, const StoredTables& sql);

}  // namespace carillon::jobtracker
