#pragma once

#include "tests/bench/workload.h"

namespace carillon::bench {

// Whether no job of the round waits or executes any more, neither for its job trackers nor in the
// store: a job that has a row in the history may still be there, too. Task trackers have stopped.
Status check_nothing_left(const Round& round);

}  // namespace carillon::bench
