#pragma once

#include <optional>

#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// Accepts rows that are in their group's table, to hand them out when they are due. A row in the
// delayed table is ignored; it is offered again after its move. Thread: the loop.
class JobSink {
 public:
  virtual ~JobSink() = default;
  virtual void offer(WaitingJob job) = 0;
  // A new job that is due: if a task tracker is free and nothing else waits, it is claimed before
  // it is stored, and stored as executing; claimed_new() must follow. Empty: store it as waiting,
  // and offer it.
  virtual std::optional<ExecutingJob> claim_new(const WaitingJob& job) = 0;
  virtual void claimed_new(JobId id, bool was_stored) = 0;
  // The row is about to leave the table.
  virtual void forget(GroupId group, JobId id) = 0;
  // A row of its group's table is about to change: like forget(). Until it is released as often as
  // it was held, reads do not return it and offers are ignored.
  virtual void hold(GroupId group, JobId id) = 0;
  virtual void release(JobId id) = 0;
  // Due rows of the table were dropped from memory: reads them again.
  virtual void reload(GroupId group) = 0;
  // All rows of a definition have left the table, or all except triggered runs.
  virtual void forget_definition(GroupId group, DefinitionId id) = 0;
  virtual void forget_fires(GroupId group, DefinitionId id) = 0;
};

}  // namespace carillon::jobtracker
