#pragma once

#include "jobclient/cli/context.h"

// groups remove: a group of xxl-job executors that is not needed any more.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_groups_remove();
int run_groups_remove(Context& context);

}  // namespace carillon::cli
