#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jobclient/cli/context.h"

// next: when a cron expression fires. Needs no job tracker.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_next();
int run_next(Context& context);

// What a preview goes by besides the expression.
struct NextWishes {
  std::string tz{};  // empty: this machine's
  std::string dst = "auto";
  std::string from{};  // empty: now
  std::int64_t number = 10;
};

// What `next --stdin` answers to one line: {"fires": [...]} or {"error": "..."}. `wishes` are for
// what it leaves out.
std::string answer_next_line(std::string_view line, const NextWishes& wishes, WallTime now,
                             const Result<Zone>& local);

}  // namespace carillon::cli
