#pragma once

#include "jobclient/cli/context.h"

// import lts: shows what an LTS database comes to, and submits it when told to.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_import_lts();
int run_import_lts(Context& context);

}  // namespace carillon::cli
