#pragma once

#include <cstdint>

#include "carillon/time.h"

namespace carillon::jobtracker {

// Detects a stall of our own store connection: one commit has been in progress for kSilence while
// the database answered on another connection. Then this session makes no more decisions, and
// another job tracker takes over. While the database answers on no connection, none is stalled.
//
// Thread: the owner's. Pure.
class CommitStallDetector {
 public:
  // The database has answered. `commit`: the number of the commit in progress; 0: none.
  void saw(std::uint64_t commit, SteadyTime asked, SteadyTime answered);

  bool is_stalled() const { return is_stalled_; }

 private:
  std::uint64_t commit_ = 0;
  SteadyTime since_{};     // start of the commit
  SteadyTime answered_{};  // the last answer
  bool is_stalled_ = false;
};

}  // namespace carillon::jobtracker
