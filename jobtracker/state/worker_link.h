#pragma once

#include "jobtracker/state/workers.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

// Where frames for task trackers go.
class WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  // False: it can't be reached now.
  virtual bool send(const Worker& worker, const wire::Message& message) = 0;
};

}  // namespace carillon::jobtracker
