#pragma once

#include <map>

#include "jobtracker/store/reads.h"

namespace carillon::jobtracker {

// When nobody looked after the node groups of this job tracker, up to its start. What came then,
// and longer before the start than its job's threshold, was missed.
class DownTime {
 public:
  void begin(const StartAnswer& found, WallTime now);
  // The last word of whoever looked after the group before, which may be ahead of our clock. None
  // (WallTime{}): nobody has yet, and nothing was missed.
  WallTime from(GroupId group) const;
  WallTime until() const { return until_; }
  bool was_missed(GroupId group, WallTime trigger, Duration threshold) const;

 private:
  WallTime from_{};
  std::map<std::int32_t, WallTime> from_of_{};  // partitions where it is another time
  WallTime until_{};
};

}  // namespace carillon::jobtracker
