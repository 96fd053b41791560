#pragma once

#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// Interface of deciders that end attempts to the alarms. Thread: the loop.
class AlarmSink {
 public:
  virtual ~AlarmSink() = default;
  // For the log row of a failure without a further retry, before it is posted: sets the alarm lines
  // for it.
  virtual void address(LogEntry& entry, const WaitingJob& job) = 0;
  // Afterwards: the row is stored, or it was rejected and address() will be called again.
  virtual void settled(const LogEntry& entry) = 0;
  // Whether alarms can be sent to all of the job's own recipients.
  virtual bool can_tell(const JobSpec& job) const = 0;
};

}  // namespace carillon::jobtracker
