#pragma once

#include <vector>

#include "carillon/time.h"

namespace carillon::tasktracker {

// A job tracker of several that a worker takes jobs from, as it stands with it.
struct Claimant {
  int owed = 0;            // jobs that it may hand out yet, whatever it is told now
  bool is_hungry = false;  // it has just used up what it was allowed
};

// How many jobs each may be allowed, of `room` in all: so many that with what the others may still
// hand out nothing is too much. Without work for anyone each has some, so that a job starts at
// once, or one after the other for a second, where there is not one for each; whoever has work gets
// what the others do not use, but for a moment each second, in which they may show that they have
// some, too.
//
// While nothing is held (`is_idle`) by a worker with fewer threads than job trackers, each has one:
// what comes too much is given back.
std::vector<int> shares(int room, bool is_idle, const std::vector<Claimant>& claimants,
                        SteadyTime now);

}  // namespace carillon::tasktracker
