#pragma once

#include <functional>
#include <vector>

#include "jobtracker/api/api.h"
#include "jobtracker/api/json_rows.h"

// How the last runs of jobs ended: `last_result` and `success_rate` of the items of /jobs.
//
// Thread: the gateway's.
namespace carillon::jobtracker::api {

// The newest rows of a task's history that count.
inline constexpr std::int64_t kResultsLooked = 20;
// Most jobs of a page for which the results are read.
inline constexpr std::int64_t kResultJobsMax = 100;

wire::Query results_query(std::string group, std::string task_id);

// `history`: newest first. A task without history keeps null; fires that did not run are no runs.
void add_results(Json& item, const std::vector<wire::Row>& history);

// Reads the history of each item, a few at a time, and then calls `then` with the items. An item
// whose history cannot be read keeps null.
void read_results(Api& api, const ExchangePtr& exchange, Json items,
                  std::function<void(Json)> then);

}  // namespace carillon::jobtracker::api
