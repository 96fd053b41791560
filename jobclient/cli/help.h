#pragma once

#include "jobclient/cli/context.h"

// help and completion.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_help();
Verb declare_completion();

int run_help(Context& context);
int run_completion(Context& context);

}  // namespace carillon::cli
