#pragma once

#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// Interface of deciders that end jobs to the feedback. Thread: the loop.
class FeedbackSink {
 public:
  virtual ~FeedbackSink() = default;
  // For the log row of a job's final end, before it is posted: sets the client group whose queue
  // gets a copy, or a message if that queue is full.
  virtual void address(LogEntry& entry, const WaitingJob& job) = 0;
  // After its commit; `rows` rows like it were stored.
  virtual void was_stored(const LogEntry& entry, std::int64_t rows) = 0;
  void was_stored(const LogEntry& entry) { was_stored(entry, 1); }
};

}  // namespace carillon::jobtracker
