#pragma once

#include "jobclient/cli/context.h"

// groups add: xxl-job executors of a group that do not register themselves.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_groups_add();
int run_groups_add(Context& context);

}  // namespace carillon::cli
