#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "carillon/job_client.h"

// What a job tracker has of tasks of other programs.
//
// Thread: the owner's.
namespace carillon::cli {

using TaskKey = std::pair<std::string, std::string>;  // group and task id

// Shows a row of each task that `ask` (JobClient::list, history …) has one of; of history the
// newest. A few tasks of a node group are asked for one by one. For more, all rows of the group are
// gone through once, as far as it takes: a history has no index, and each question about one task
// reads all of it.
using AskRows = Result<RowPage> (JobClient::*)(const RowFilter&);
Status find_tasks(JobClient& client, AskRows ask, const std::set<TaskKey>& tasks,
                  const std::function<void(const TaskKey&, const Row&)>& found);

}  // namespace carillon::cli
