#pragma once

#include <string>
#include <vector>

#include "carillon/job_runner.h"
#include "shared/base/environment.h"

namespace carillon::tasktracker {

// Variables for a jobclient in a run: the job trackers of this worker; none: those in `own`.
Environment with_trackers(const Environment& own, const std::vector<std::string>& trackers);

// The environment of a command, shell line or script, as "NAME=value": the worker's own variables
// without those about the worker, which may be secrets, plus those about the job.
//
// A value is cut at its first zero byte, which an environment cannot contain. Thread: any.
std::vector<std::string> run_environment(const Environment& own, const JobInfo& job);

}  // namespace carillon::tasktracker
