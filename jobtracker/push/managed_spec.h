#pragma once

#include <string>

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "shared/wire/xxl/messages.h"

namespace carillon::jobtracker {

// The job that a call of xxl-job's addJob describes, for the executors of that group; for updateJob
// over what it was, whose script stays. What makes no sense is refused by the name of its field.
Result<JobSpec> managed_spec(const wire::xxl::ManagedJob& job, const std::string& group,
                             const JobSpec* before = nullptr);

}  // namespace carillon::jobtracker
