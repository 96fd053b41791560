#pragma once

#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// The admission policy: decides whether a job that is about to be claimed may run now.
class AdmissionPolicy {
 public:
  virtual ~AdmissionPolicy() = default;
  // True: it may run. False: it was handled (void, missed, skipped or blocked); if it may run
  // later, JobSink::offer() returns it.
  virtual bool admit(WaitingJob& job, WallTime now) = 0;
  // It was due while no job tracker ran, and must not run.
  virtual bool is_missed(const WaitingJob& job) const = 0;
  // Ends a waiting job that was missed or whose start deadline has passed. False: not possible now,
  // retry later.
  virtual bool expire(WaitingJob job) = 0;
  // An admitted job was not claimed, because its row has changed or was deleted.
  virtual void was_not_claimed(const WaitingJob& job) = 0;
};

}  // namespace carillon::jobtracker
