#pragma once

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// The script of this job after kSetScript. Errors: kConflict if it runs no script. kInvalidArgument
// if it cannot run this script, or its version is not before `now`.
//
// Thread: any.
Result<Run> changed_script(JobSpec spec, const wire::Act& act, WallTime now);

}  // namespace carillon::jobtracker
