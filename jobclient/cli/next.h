#pragma once

#include <string>
#include <string_view>

#include "jobclient/cli/context.h"

// next: when a cron expression fires. Needs no job tracker.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_next();
int run_next(Context& context);

// What `next --stdin` answers to one line: {"fires": [...]} or {"error": "..."}. `now` stands for
// a `from` that is left out, `zone` for a `tz`.
std::string answer_next_line(std::string_view line, WallTime now, const Result<Zone>& local);

}  // namespace carillon::cli
