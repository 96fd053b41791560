#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "shared/wire/xxl/messages.h"

namespace carillon::jobtracker {

// The parts of a list of xxl-job's: with commas between, without blanks around them.
std::vector<std::string> parts_of(std::string_view list);

// The job that a call of xxl-job's addJob describes, for the executors of that group; for updateJob
// over what it was, which stays a handler or that script, and keeps its alarms where none are
// given. What makes no sense is refused by the name of its field.
Result<JobSpec> managed_spec(const wire::xxl::ManagedJob& job, const std::string& group,
                             const JobSpec* before = nullptr);

}  // namespace carillon::jobtracker
