#pragma once

#include "jobclient/cli/context.h"

// How much ended on each day, and how.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_report();
int run_report(Context& context);

}  // namespace carillon::cli
