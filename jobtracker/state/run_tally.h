#pragma once

#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// Who wants to know how runs go.
// Thread: the loop.
class RunTally {
 public:
  virtual ~RunTally() = default;
  // A run has ended by itself: it has succeeded, or failed, whether it is tried again or not.
  virtual void ran(const ExecutingJob& run, bool has_failed) = 0;
};

}  // namespace carillon::jobtracker
