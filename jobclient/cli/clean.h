#pragma once

#include "jobclient/cli/context.h"

// Deletes what has ended from the history.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_clean();
int run_clean(Context& context);

}  // namespace carillon::cli
