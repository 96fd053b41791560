#pragma once

#include <cstdint>

#include "jobtracker/store/batch.h"
#include "shared/sql/sql_connection.h"

// The table lts_audit.
namespace carillon::jobtracker {

// The rows of the batch's numbered requests.
Status store_audit(sql::Connection& db, const Batch& batch, const Committed& committed);

// Deletes at most `limit` rows with ids smaller than `before`, oldest first. Returns their number.
Result<std::int64_t> purge_audit(sql::Connection& db, std::int64_t before, std::int64_t limit);

}  // namespace carillon::jobtracker
