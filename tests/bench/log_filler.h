#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "carillon/result.h"
#include "shared/sql/sql_connection.h"
#include "tests/bench/direct_store.h"

// Fills tables with SQL, past the job tracker. No job tracker works on the store meanwhile.
namespace carillon::bench {

Result<std::unique_ptr<sql::Connection>> connect_to_store(const std::string& url);

// Runs `insert`, which ends in "SELECT ... ", for the numbers `n` from 1 to `rows`, many at a time.
Status insert_numbered(sql::Connection& db, std::string_view insert, std::int64_t rows);

// The sessions that begin from now on give ids above this one.
Status raise_ids(sql::Connection& db, std::int64_t id);

// Fills the index of the log until it has all rows; how many it got. Requires: its session began
// after the rows were given their ids.
Result<std::int64_t> index_log(DirectStore& store);

}  // namespace carillon::bench
