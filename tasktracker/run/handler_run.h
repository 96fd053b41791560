#pragma once

#include "carillon/job_runner.h"
#include "tasktracker/run/run_control.h"
#include "tasktracker/run/run_request.h"

namespace carillon::tasktracker {

// Calls a user's function, and turns whatever comes out of it into a RunEnd.
// Thread: any; the function's thread is this one.
RunEnd run_handler(const JobRunner& runner, const JobInfo& job, RunControl& control);

}  // namespace carillon::tasktracker
