#pragma once

#include <string>
#include <vector>

#include "carillon/job_runner.h"
#include "shared/base/environment.h"

namespace carillon::tasktracker {

// What a command, shell line or script finds in its environment, as "NAME=value": the worker's own
// variables, without those that speak of the worker, and those that tell about the job.
//
// A value is cut at its first zero byte, which an environment cannot hold.
// Thread: any.
std::vector<std::string> run_environment(const Environment& own, const JobInfo& job);

}  // namespace carillon::tasktracker
