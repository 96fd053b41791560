#include "jobtracker/store/lane_watch.h"

#include "jobtracker/store/beat_watch.h"

namespace carillon::jobtracker {

void LaneWatch::saw(std::uint64_t commit, SteadyTime asked, SteadyTime answered) {
  const bool is_gap = answered - answered_ > kLookGapMax;
  if (commit != commit_ || is_gap) since_ = answered;
  commit_ = commit;
  answered_ = answered;
  stands_still_ = commit != 0 && asked - since_ >= kSilence;
}

}  // namespace carillon::jobtracker
