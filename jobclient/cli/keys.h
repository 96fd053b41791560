#pragma once

#include "jobclient/cli/context.h"

// keys new: CURVE keys for a job tracker that other machines may reach. Needs no job tracker.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_keys_new();
int run_keys_new(Context& context);

}  // namespace carillon::cli
