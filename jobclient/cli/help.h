#pragma once

#include "jobclient/cli/context.h"

// completion, and help as far as it is listed: parse_configuration() answers it.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_help();
Verb declare_completion();

int run_completion(Context& context);

}  // namespace carillon::cli
