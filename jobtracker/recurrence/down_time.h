#pragma once

#include <map>

#include "jobtracker/store/reads.h"

namespace carillon::jobtracker {

// The time without an owner of this job tracker's node groups, up to its start. Fires in it, and
// longer before the start than their job's threshold, were missed.
class DownTime {
 public:
  void begin(const StartAnswer& found, WallTime now);
  // The last heartbeat of the group's previous owner, which may be ahead of this clock. WallTime{}:
  // the group had no owner yet, and nothing was missed.
  WallTime from(GroupId group) const;
  WallTime until() const { return until_; }
  bool was_missed(GroupId group, WallTime trigger, Duration threshold) const;

 private:
  WallTime from_{};
  std::map<std::int32_t, WallTime> from_of_{};  // partitions with another time
  WallTime until_{};
};

}  // namespace carillon::jobtracker
