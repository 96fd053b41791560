#pragma once

#include "jobtracker/recurrence/changes.h"

namespace carillon::jobtracker {

// Suspends a definition whose runs killed their task trackers too often in a row, until it is
// resumed. This applies also to a suspended definition.
//
// With cancel_running, the next run may supersede a lost run before its third loss. The next run
// then continues the count. A restart of the job tracker resets it.
//
// Thread: the loop.
class Quarantine {
 public:
  Quarantine(Plans& plans, Changes& changes, const Logger& log)
      : plans_(plans), changes_(changes), log_(log) {}

  // A run has ended or is superseded; with cancel_running its lost attempts are added to the next
  // run's. A run with too many losses ends if its job is suspended or it was cancelled.
  void count_lost(ActiveDefinition& definition, const WaitingJob& job);
  // Until the quarantine is on disk, the row tells what to do, and no task tracker gets the job.
  void begin(const WaitingJob& job, int lost);
  // Number of quarantines.
  std::int64_t begun() const { return begun_; }

 private:
  Plans& plans_;
  Changes& changes_;
  const Logger& log_;
  std::int64_t begun_ = 0;
};

}  // namespace carillon::jobtracker
