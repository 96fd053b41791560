#pragma once

#include "jobtracker/recurrence/changes.h"

namespace carillon::jobtracker {

// A definition whose run has killed its task tracker too often in a row is suspended, though nobody
// has asked for it, until somebody resumes it; also one that somebody has suspended.
//
// With cancel_running a run that was lost makes way for the next one before it is lost for the
// third time. What kills its task tracker does so all the same, so the next run goes on with the
// count; a restart of the job tracker begins it again.
//
// Thread: the loop.
class Quarantine {
 public:
  Quarantine(Plans& plans, Changes& changes, const Logger& log)
      : plans_(plans), changes_(changes), log_(log) {}

  // A run has ended, or makes way: with cancel_running its lost attempts count on. One that was
  // lost too often ends when its job is suspended or it was called off.
  void count_lost(ActiveDefinition& definition, const WaitingJob& job);
  // Until it is on disk the job's row says what is to be done, and nobody is handed it.
  void begin(const WaitingJob& job, int lost);
  // How often that was done.
  std::int64_t begun() const { return begun_; }

 private:
  Plans& plans_;
  Changes& changes_;
  const Logger& log_;
  std::int64_t begun_ = 0;
};

}  // namespace carillon::jobtracker
