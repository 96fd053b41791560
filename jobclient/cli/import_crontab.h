#pragma once

#include "jobclient/cli/context.h"

// import crontab: shows what a crontab comes to, and submits it when told to.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_import_crontab();
int run_import_crontab(Context& context);

}  // namespace carillon::cli
