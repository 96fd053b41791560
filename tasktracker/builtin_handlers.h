#pragma once

#include <map>
#include <string>

#include "carillon/job_runner.h"

namespace carillon::tasktracker {

// Handlers of the program `tasktracker`, for trying things:
//   noop   succeeds
//   echo   writes its params and its payload to the output; its message is the payload
//   sleep  for as long as param `duration`, or the payload, says ("500ms"; 1s); ends when stopped
//   fail   fails with param `message`, or the payload; with param `times`, only the first so many
//          attempts
// Thread: any.
std::map<std::string, JobRunner> builtin_handlers();

}  // namespace carillon::tasktracker
