#pragma once

#include "carillon/job_runner.h"
#include "tasktracker/run/run_control.h"
#include "tasktracker/run/run_request.h"

namespace carillon::tasktracker {

// Calls a handler, and converts its result or exception to a RunEnd. Thread: any; the handler runs
// on the same thread.
RunEnd run_handler(const JobRunner& runner, const JobInfo& job, RunControl& control);

}  // namespace carillon::tasktracker
