#pragma once

#include <cstdint>

#include "carillon/result.h"

namespace carillon::bench {

// What became of jobs that were submitted faster than they are run.
struct Load {
  double maximum = 0;              // jobs a second that can be run
  double ended_per_second = 0;     // of these
  std::int64_t turned_away = 0;    // jobs, by the client library or the job tracker
  std::int64_t slowed_down = 0;    // requests that the job tracker told to slow down
  std::int64_t left_over = 0;      // jobs that had not ended when the last was submitted
  std::int64_t least_percent = 0;  // of the maximum that the rate must keep
  double others_percent = 0;       // of the CPU, which other programs had
};

// The rate must stay where it was, or nearly so.
Status check_rate(const Load& load);
// Without more than can be run, nothing is known of it. More than can be run leaves something over,
// or is not taken.
Status check_overloaded(const Load& load);

}  // namespace carillon::bench
