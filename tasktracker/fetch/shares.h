#pragma once

#include <vector>

#include "carillon/time.h"

namespace carillon::tasktracker {

// The state of a job tracker from which a worker takes jobs.
struct Claimant {
  int owed = 0;            // jobs that it may still hand out, whatever it is told now
  bool is_hungry = false;  // it has just used up its share
};

// Divides `room` jobs among several job trackers, so that together with outstanding hand-outs there
// are never too many. Without work, each gets some, so that a job starts immediately; if there are
// too few, each gets one in turn for a second. A job tracker with work gets what the others do not
// use, except for a moment each second, in which the others can show that they have work too.
//
// While a worker with fewer threads than job trackers is idle (`is_idle`), each gets one: surplus
// jobs are returned.
std::vector<int> shares(int room, bool is_idle, const std::vector<Claimant>& claimants,
                        SteadyTime now);

}  // namespace carillon::tasktracker
