#pragma once

#include <optional>

#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// Takes rows that are in their group's table by now, so that they are handed out when due; one that
// is in the delayed table comes again when it has moved, and is ignored until then.
// Thread: the loop.
class JobSink {
 public:
  virtual ~JobSink() = default;
  virtual void offer(WaitingJob job) = 0;
  // A new job that is due: if a task tracker is free for it and nothing else waits, it is claimed
  // before it is stored, to be stored as executing; then claimed_new() must follow. Empty: it is to
  // be stored as waiting, and offered.
  virtual std::optional<ExecutingJob> claim_new(const WaitingJob& job) = 0;
  virtual void claimed_new(JobId id, bool was_stored) = 0;
  // The row is about to leave the table.
  virtual void forget(GroupId group, JobId id) = 0;
  // A row of its group's table is about to change: as forget(), and until it was released as often
  // as it was held, no read brings it back and an offer is ignored.
  virtual void hold(GroupId group, JobId id) = 0;
  virtual void release(JobId id) = 0;
  // Rows of its table that were due were let go of: they are read again.
  virtual void reload(GroupId group) = 0;
  // All rows of a definition have left the table, or all but what was triggered.
  virtual void forget_definition(GroupId group, DefinitionId id) = 0;
  virtual void forget_fires(GroupId group, DefinitionId id) = 0;
};

}  // namespace carillon::jobtracker
