#pragma once

#include <map>
#include <string>

#include "carillon/job_runner.h"

namespace carillon::tasktracker {

// The handlers of the program `tasktracker`, for tests:
//   noop   succeeds
//   echo   writes its params and its payload to the output; its message is the payload
//   sleep  sleeps for param `duration`, or the payload ("500ms"; default 1s); ends on a stop
//   request
//   fail   fails with param `message`, or the payload; with param `times`, only in that number of
//          first attempts
// Thread: any.
std::map<std::string, JobRunner> builtin_handlers();

}  // namespace carillon::tasktracker
