#pragma once

#include <cstdint>
#include <unordered_set>

#include "jobtracker/store/batch.h"
#include "shared/sql/sql_connection.h"

// Numbered requests and their answers in lts_client: one row for each slot of a client.
//
// A client without an answer asks another job tracker, so two may process the same request. The
// first stored answer wins.
namespace carillon::jobtracker {

using UsedSlots = std::unordered_set<std::int64_t>;

// Fills committed.requests, and marks the operations of requests that were answered before. Returns
// which of their slots have a row: no other transaction writes those before this one ends.
Result<UsedSlots> look_up_requests(sql::Connection& db, const Batch& batch, Committed& committed);

// Stores the answers and outcomes of the new requests. Error: kConflict if another job tracker has
// answered one since the look-up. Requires: committed.outcomes are final.
Status store_requests(sql::Connection& db, const Batch& batch, const Committed& committed,
                      UsedSlots used);

}  // namespace carillon::jobtracker
