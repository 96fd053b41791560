#pragma once

#include <string>

#include "carillon/ids.h"

namespace carillon::jobtracker {

// Stops runs for a schedule or the end of a job, without a request of a client. Thread: the loop.
class RunStopper {
 public:
  virtual ~RunStopper() = default;
  // Executing runs of the definition get a stop request. Their retries are void, also after a
  // restart.
  virtual void stop_runs_of(DefinitionId id, const std::string& reason) = 0;
  // Its fires, or all of its runs, are void: runs that have not started do not start.
  virtual void stop_void(DefinitionId id) = 0;
  // The job has ended, or is not retried. A task tracker that was declared dead may still run an
  // attempt: that attempt gets a stop request when the task tracker reports it.
  virtual void call_off(JobId id, const std::string& reason) = 0;
};

}  // namespace carillon::jobtracker
