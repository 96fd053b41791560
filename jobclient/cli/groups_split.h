#pragma once

#include "jobclient/cli/context.h"

// Spreads a node group over several job trackers: groups split.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_groups_split();
int run_groups_split(Context& context);

}  // namespace carillon::cli
