#pragma once

#include "jobclient/cli/context.h"

// console: a link that signs the local administrator in at the web console.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_console();
int run_console(Context& context);

}  // namespace carillon::cli
