#pragma once

#include "jobclient/cli/context.h"

// import xxl-job: shows what the database of an xxl-job admin comes to, and submits it when told
// to.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_import_xxl();
int run_import_xxl(Context& context);

}  // namespace carillon::cli
