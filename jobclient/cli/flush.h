#pragma once

#include "jobclient/cli/context.h"

// flush: deliver what submit --offline, or a program with the library, has stored.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_flush();
int run_flush(Context& context);

}  // namespace carillon::cli
