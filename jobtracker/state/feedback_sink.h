#pragma once

#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// Where those who end jobs leave word for the job clients that are to be told.
// Thread: the loop.
class FeedbackSink {
 public:
  virtual ~FeedbackSink() = default;
  // The log row of a job's last end, before it is posted: says whose queue gets a copy of it, or,
  // where that queue is full, that none does.
  virtual void address(LogEntry& entry, const WaitingJob& job) = 0;
  // After its commit; of so many rows like it.
  virtual void was_stored(const LogEntry& entry, std::int64_t rows) = 0;
  void was_stored(const LogEntry& entry) { was_stored(entry, 1); }
};

}  // namespace carillon::jobtracker
