#pragma once

#include "jobclient/cli/context.h"

// jobclient feedback: how the jobs of a client group end, as they do.
namespace carillon::cli {

Verb declare_feedback();
int run_feedback(Context& context);

}  // namespace carillon::cli
