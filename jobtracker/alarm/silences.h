#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// The node groups about which no messages are sent. Other job trackers may change them in the
// store: each reads them again every few seconds.
//
// Thread: the loop.
class Silences {
 public:
  Silences(Questions& questions, const SchedulingClock& clock)
      : questions_(questions), clock_(clock) {}

  void start(const std::vector<SilenceRow>& stored) { take(stored); }
  // Reads them again. While the store is away, the last known ones count.
  void refresh();
  // A change that is stored.
  void put(const SilenceRow& row);
  // The end of the silence of a whole group; none: it is not silenced.
  std::optional<WallTime> until(GroupId group) const;
  // The silenced groups.
  std::vector<GroupId> groups() const;
  Sizes sizes() const { return {{"until", until_.size()}}; }

 private:
  void take(const std::vector<SilenceRow>& stored);

  Questions& questions_;
  const SchedulingClock& clock_;
  std::map<GroupId, WallTime> until_{};  // some may be over
  std::uint64_t changes_ = 0;            // calls of put()
};

}  // namespace carillon::jobtracker
