#pragma once

#include "carillon/ids.h"

namespace carillon::jobtracker {

// Ends attempts without a report. Thread: the loop.
class TakeBack {
 public:
  virtual ~TakeBack() = default;
  // Its worker is dead or does not have it. `lost`: it may have run, and that is recorded.
  virtual void take_back(JobId id, bool lost) = 0;
  // It was cancelled before it was sent.
  virtual void cancel_unsent(JobId id) = 0;
};

}  // namespace carillon::jobtracker
