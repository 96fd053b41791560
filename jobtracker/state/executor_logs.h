#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "carillon/ids.h"
#include "carillon/result.h"
#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// Output of a run from its executor's log file.
struct ExecutorLogPart {
  std::int32_t attempt = 0;
  std::int64_t position = 0;  // where the next part starts, in this attempt
  std::string text{};         // empty: nothing more yet
};

// The logs of pushed runs, which are stored at their executors. Thread: the loop.
class ExecutorLogs {
 public:
  virtual ~ExecutorLogs() = default;
  // Reads from this position of this attempt; 0 and 0 is the start. False: the executor of the
  // job's runs is unknown, and `on_part` is not called.
  virtual bool read(JobId job, std::int32_t attempt, std::int64_t position,
                    std::function<void(Result<ExecutorLogPart>)> on_part) = 0;
  // Learns the executors of a job from its history. False: none of its runs was pushed.
  virtual bool recall(JobId job, const std::vector<LogEntry>& history) = 0;
};

}  // namespace carillon::jobtracker
