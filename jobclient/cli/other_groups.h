#pragma once

#include "jobclient/cli/context.h"

// For verbs about one task: the group is a part of its name, and is easily forgotten.
// Thread: the owner's.
namespace carillon::cli {

// The error that a verb about this task got, or, when it says that there is no such task and
// another group has one of that id, an error that names this group. May ask the job tracker.
Error name_other_groups(Context& context, const TaskRef& task, const Error& error);

}  // namespace carillon::cli
