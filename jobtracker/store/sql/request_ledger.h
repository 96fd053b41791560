#pragma once

#include "jobtracker/store/batch.h"
#include "shared/sql/sql_connection.h"

// Numbered requests and their answers, in lts_client: one row for each slot of a client.
namespace carillon::jobtracker {

// Fills committed.requests, and marks the operations of requests that were answered before.
Status look_up_requests(sql::Connection& db, const Batch& batch, Committed& committed);

// Stores the answers and outcomes of the new ones. Requires: committed.outcomes are final.
Status store_requests(sql::Connection& db, const Batch& batch, const Committed& committed);

}  // namespace carillon::jobtracker
