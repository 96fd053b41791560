#pragma once

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// The script that such a job has after kSetScript. kConflict: it runs none. kInvalidArgument: it
// cannot be that one, or its version is no time before `now`.
//
// Thread: any.
Result<Run> changed_script(JobSpec spec, const wire::Act& act, WallTime now);

}  // namespace carillon::jobtracker
