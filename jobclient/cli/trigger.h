#pragma once

#include "jobclient/cli/context.h"

// trigger: run a task now.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_trigger();
int run_trigger(Context& context);

}  // namespace carillon::cli
