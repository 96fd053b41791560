#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "shared/wire/xxl/messages.h"

namespace carillon::jobtracker {

// The items of a comma-separated list of xxl-job, without surrounding spaces.
std::vector<std::string> parts_of(std::string_view list);

// The job of an addJob call of xxl-job, for this group. For updateJob, `before` is the existing
// job: it stays a handler or keeps its script, and keeps its alarms if none are given. An error
// names the field.
Result<JobSpec> managed_spec(const wire::xxl::ManagedJob& job, const std::string& group,
                             const JobSpec* before = nullptr);

}  // namespace carillon::jobtracker
