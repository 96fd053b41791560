#pragma once

#include <string>

#include "carillon/ids.h"

namespace carillon::jobtracker {

// Stops runs because of what a schedule says or how a job ends, not because somebody asks for it.
// Thread: the loop.
class RunStopper {
 public:
  virtual ~RunStopper() = default;
  // What executes of a definition is told to stop; its retries are void, also after a restart.
  virtual void stop_runs_of(DefinitionId id, const std::string& reason) = 0;
  // Its fires, or all of its runs, are void by now: what has not begun does not begin.
  virtual void stop_void(DefinitionId id) = 0;
  // It has ended, or is not tried again. A task tracker that was taken for dead may still run an
  // attempt of it: that one is told to stop as soon as it says so.
  virtual void call_off(JobId id, const std::string& reason) = 0;
};

}  // namespace carillon::jobtracker
