#pragma once

#include "carillon/ids.h"

namespace carillon::jobtracker {

// Ends attempts without a report. Thread: the loop.
class AttemptReclaimer {
 public:
  virtual ~AttemptReclaimer() = default;
  // Its worker is dead or does not have it. `lost`: it may have run, and that is recorded.
  virtual void reclaim(JobId id, bool lost) = 0;
  // It was cancelled before it was sent.
  virtual void cancel_unsent(JobId id) = 0;
};

}  // namespace carillon::jobtracker
