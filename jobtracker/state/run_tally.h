#pragma once

#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// Observer of run results. Thread: the loop.
class RunTally {
 public:
  virtual ~RunTally() = default;
  // A run has ended with success or failure, with or without a further retry.
  virtual void ran(const ExecutingJob& run, bool has_failed) = 0;
};

}  // namespace carillon::jobtracker
