#pragma once

#include "jobclient/cli/context.h"

// scripts list, show, set, restore: the versions of a task's script.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_scripts_list();
Verb declare_scripts_show();
Verb declare_scripts_set();
Verb declare_scripts_restore();
int run_scripts_list(Context& context);
int run_scripts_show(Context& context);
int run_scripts_set(Context& context);
int run_scripts_restore(Context& context);

}  // namespace carillon::cli
