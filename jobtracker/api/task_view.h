#pragma once

#include <string>

#include "carillon/job_spec.h"
#include "jobtracker/api/json_rows.h"
#include "shared/wire/messages.h"

// Rows of definitions and of jobs as the items of /jobs.
//
// Thread: any.
namespace carillon::jobtracker::api {

// From a row of `list`.
Json definition_item(const wire::Row& row);
// From a row of `waiting`, of a job without a definition.
Json one_shot_item(const wire::Row& row);
// Whether a row of `waiting` is of a job without a definition.
bool is_one_shot(const wire::Row& row);

// The spec in a row of `show`. Error: kCorrupt.
Result<JobSpec> spec_in(const wire::Row& shown);
// The next ten fires of a job whose row of `show` is `shown`, as a list of times, from the next one
// that the job tracker knows.
Json next_fires(const JobSpec& spec, const wire::Row& shown);
// As `jobclient show` prints it.
Json json_of_spec(const JobSpec& spec);
// Changes with each change of the spec: "\"5f2c...\"".
std::string etag_of(const wire::Row& shown);

}  // namespace carillon::jobtracker::api
