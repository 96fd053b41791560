#pragma once

#include "jobtracker/state/workers.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// Sends frames to task trackers.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  // False: it is not reachable now.
  virtual bool send(const Worker& worker, const wire::Message& message) = 0;
};

}  // namespace carillon::jobtracker
