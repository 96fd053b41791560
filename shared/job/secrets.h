#pragma once

#include <string>
#include <string_view>

#include "carillon/job_spec.h"

// Hides secrets of jobs in what people and logs see. Thread: any.
namespace carillon {

// "https://***@host/path" for "https://ann:password@host/path".
std::string masked_url(std::string_view url);

// The job without passwords in URLs, and without values of headers like Authorization.
JobSpec without_secrets(JobSpec spec);

}  // namespace carillon
