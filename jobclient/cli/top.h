#pragma once

#include "jobclient/cli/context.h"

// The verb top. Thread: the owner's.
namespace carillon::cli {

Verb declare_top();
int run_top(Context& context);

}  // namespace carillon::cli
