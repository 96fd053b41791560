#pragma once

#include <string>
#include <vector>

#include "carillon/job_runner.h"
#include "shared/base/environment.h"

namespace carillon::tasktracker {

// As a jobclient in a run needs it: with the job trackers, and the folder of keys, that this worker
// was given, however that was. None, or no folder: as `own` has them.
Environment with_access(const Environment& own, const std::vector<std::string>& trackers,
                        const std::string& keys);

// What a command, shell line or script finds in its environment, as "NAME=value": the worker's own
// variables, without those that speak of the worker, and those that tell about the job.
//
// A value is cut at its first zero byte, which an environment cannot hold.
// Thread: any.
std::vector<std::string> run_environment(const Environment& own, const JobInfo& job);

}  // namespace carillon::tasktracker
