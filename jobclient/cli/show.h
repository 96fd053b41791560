#pragma once

#include "jobclient/cli/context.h"

// The verbs that show one thing: show (a task) and stats (the job tracker).
// Thread: the owner's.
namespace carillon::cli {

Verb declare_show();
Verb declare_stats();

int run_show(Context& context);
int run_stats(Context& context);

}  // namespace carillon::cli
