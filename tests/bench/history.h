#pragma once

#include <functional>
#include <string>
#include <vector>

#include "carillon/job_client.h"
#include "carillon/result.h"

namespace carillon::bench {

struct HistoryRow {
  std::string job_id{};
  std::string task_id{};
  std::string state{};
  std::string trigger_time{};
  double lateness_ms = 0;
};

// All of a group's history, newest first.
Result<std::vector<HistoryRow>> read_history(JobClient& client, const std::string& group);

// A counter of the job tracker's `stats`.
Result<std::int64_t> read_counter(JobClient& client, const std::string& name);

// Asks for a counter again and again until it has reached `least`; an error after `patience`
// without any progress.
Status await_counter(JobClient& client, const std::string& name, std::int64_t least,
                     Duration patience);

}  // namespace carillon::bench
