#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "carillon/job_client.h"
#include "carillon/result.h"

namespace carillon::bench {

struct HistoryRow {
  JobId job_id{};
  std::string task_id{};
  std::string trigger_time{};
  std::string state{};
  double lateness_ms = 0;
};

// All of some groups' history.
Status read_history(JobClient& client, const std::vector<std::string>& groups,
                    const std::function<void(const HistoryRow&)>& on_row);

// Whether each of these jobs, and no other of these groups, has succeeded once, at `due` if they
// have that time, and none before its time. Gives how late each was started, in ms from when the
// job tracker took it, or from its time if it had one.
Result<std::vector<double>> check_jobs(JobClient& client, const std::vector<std::string>& groups,
                                       const std::vector<JobId>& submitted,
                                       const std::optional<WallTime>& due = {});

// By so much two clocks of a machine may differ.
inline constexpr Duration kClocksApart = std::chrono::milliseconds{1};
// Whether it was not started before its time.
Status check_not_early(const HistoryRow& row);

// Waits until a group's history has so many rows; for few. An error after `patience`.
Status await_history(JobClient& client, const std::string& group, std::size_t rows,
                     Duration patience);

// A counter of the job tracker's `stats`.
Result<std::int64_t> read_counter(JobClient& client, const std::string& name);

// Asks for a counter again and again until it has reached `least`; an error after `patience`
// without any progress.
Status await_counter(JobClient& client, const std::string& name, std::int64_t least,
                     Duration patience);
// The same of what `read` gives.
Status await_count(const std::string& name, std::int64_t least, Duration patience,
                   const std::function<Result<std::int64_t>()>& read);

}  // namespace carillon::bench
