#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "carillon/ids.h"
#include "carillon/result.h"
#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// What a run wrote, as far as its executor has it in its log file.
struct ExecutorLogPart {
  std::int32_t attempt = 0;
  std::int64_t position = 0;  // where the next part begins, in this attempt
  std::string text{};         // empty: there is nothing more, for now
};

// The logs of pushed runs, which lie with their executors.
// Thread: the loop.
class ExecutorLogs {
 public:
  virtual ~ExecutorLogs() = default;
  // What follows that position of that attempt; 0 and 0 is the beginning. False: it does not know
  // where a run of this job was, and `on_part` is not called.
  virtual bool read(JobId job, std::int32_t attempt, std::int64_t position,
                    std::function<void(Result<ExecutorLogPart>)> on_part) = 0;
  // Where the runs of a job were, as its history says. False: none of them was an executor's.
  virtual bool recall(JobId job, const std::vector<LogEntry>& history) = 0;
};

}  // namespace carillon::jobtracker
