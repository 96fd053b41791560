#pragma once

#include <functional>
#include <string>

#include "tests/sim/ledger.h"

namespace carillon::sim {

// A line for each step of a task, or of a job by its id, in a commit, for whoever looks for what
// went wrong.
void tell_story(const std::string& name, const Commit& commit, const Ledger& ledger,
                const std::function<void(const std::string&)>& tell);

}  // namespace carillon::sim
