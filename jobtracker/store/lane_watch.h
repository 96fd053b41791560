#pragma once

#include <cstdint>

#include "carillon/time.h"

namespace carillon::jobtracker {

// Tells whether our own lane stands still: one commit has been under way for kSilence, in which the
// database answered on another connection all along. Then nothing is decided here any more, and
// another job tracker may do better. While the database answers nobody, no lane stands still.
//
// Thread: the owner's. Pure.
class LaneWatch {
 public:
  // The database has answered. `commit`: the number of the one under way; 0: none is.
  void saw(std::uint64_t commit, SteadyTime asked, SteadyTime answered);

  bool stands_still() const { return stands_still_; }

 private:
  std::uint64_t commit_ = 0;
  SteadyTime since_{};     // it has been under way
  SteadyTime answered_{};  // last
  bool stands_still_ = false;
};

}  // namespace carillon::jobtracker
