#pragma once

#include <string>

#include "carillon/ids.h"

namespace carillon::jobtracker {

// Stops runs because of what a schedule says, not because somebody asks for it.
// Thread: the loop.
class RunStopper {
 public:
  virtual ~RunStopper() = default;
  // What executes of a definition is told to stop; its retries are void, also after a restart.
  virtual void stop_runs_of(DefinitionId id, const std::string& reason) = 0;
  // A run that was to be tried again is not: it may go on where it was given up.
  virtual void was_called_off(JobId id) = 0;
};

}  // namespace carillon::jobtracker
