#pragma once

#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// Says of a job that is about to be claimed whether it may run now.
class Gate {
 public:
  virtual ~Gate() = default;
  // True: it may. False: the job was taken over (void, missed, skipped, parked), and if it is to
  // run after all, it comes back by JobSink::offer().
  virtual bool admit(WaitingJob& job, WallTime now) = 0;
  // Its time came while no job tracker ran, and it is not to run then.
  virtual bool is_missed(const WaitingJob& job) const = 0;
  // A job that waits was missed, or its start deadline has passed: it ends. False: not now, ask
  // again later.
  virtual bool expire(WaitingJob job) = 0;
  // An admitted job was not claimed after all, because its row has changed or gone.
  virtual void was_not_claimed(const WaitingJob& job) = 0;
};

}  // namespace carillon::jobtracker
