#pragma once

#include "jobclient/cli/context.h"

// logs: what a job wrote.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_logs();
int run_logs(Context& context);

}  // namespace carillon::cli
