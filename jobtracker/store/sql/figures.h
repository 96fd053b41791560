#pragma once

#include <cstdint>

#include "carillon/time.h"
#include "shared/sql/sql_connection.h"

// The table lts_figures.
namespace carillon::jobtracker {

// Deletes whole minutes before `before`, the oldest first, until there are `limit` rows. Returns
// the number of rows.
Result<std::int64_t> purge_figures(sql::Connection& db, WallTime before, std::int64_t limit);

}  // namespace carillon::jobtracker
