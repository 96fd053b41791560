#pragma once

#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// Where who ends attempts leaves word for the people that are to be told of a failure.
// Thread: the loop.
class AlarmSink {
 public:
  virtual ~AlarmSink() = default;
  // The log row of a failure after which nothing is tried again, before it is posted: says which
  // lines of alarms it is written as.
  virtual void address(LogEntry& entry, const WaitingJob& job) = 0;
  // After that: it is stored, or it is not and will be addressed again.
  virtual void settled(const LogEntry& entry) = 0;
  // Whether each of a job's own recipients can be told of its failures.
  virtual bool can_tell(const JobSpec& job) const = 0;
};

}  // namespace carillon::jobtracker
