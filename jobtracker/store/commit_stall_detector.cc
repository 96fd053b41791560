#include "jobtracker/store/commit_stall_detector.h"

#include "jobtracker/store/heartbeat_watch.h"

namespace carillon::jobtracker {

void CommitStallDetector::saw(std::uint64_t commit, SteadyTime asked, SteadyTime answered) {
  const bool is_gap = answered - answered_ > kLookGapMax;
  if (commit != commit_ || is_gap) since_ = answered;
  commit_ = commit;
  answered_ = answered;
  is_stalled_ = commit != 0 && asked - since_ >= kSilence;
}

}  // namespace carillon::jobtracker
