#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "carillon/result.h"
#include "shared/sql/sql_connection.h"

// The job tables of an LTS database (light-task-scheduler 1.7), as they stand there.
//
// Thread: any.
namespace carillon::cli {

enum class LtsQueue { kCron, kRepeat, kSuspended, kWaiting, kExecuting };

// "cron", "repeat", "suspended", "waiting", "executing".
const char* to_string(LtsQueue queue);

// A row of one of them; every table has the same columns. Times are in ms since 1970.
struct LtsRow {
  LtsQueue queue = LtsQueue::kWaiting;
  std::int64_t id = 0;
  std::string job_id{};
  std::string job_type{};  // REAL_TIME, TRIGGER_TIME, CRON, REPEAT
  std::string task_id{};
  std::string real_task_id{};  // of an occurrence made ahead: its definition's
  std::string group{};
  std::string submit_group{};
  std::int64_t priority = 100;  // smaller runs first
  std::int64_t retry_times = 0;
  std::int64_t max_retry_times = 0;
  bool relies_on_prev_cycle = true;
  bool needs_feedback = false;
  std::string ext_params{};           // a JSON object, or empty
  std::string internal_ext_params{};  // the same; LTS's own
  std::string cron{};
  std::optional<std::int64_t> trigger_time{};
  std::int64_t repeat_count = 0;  // -1: no end
  std::int64_t repeated_count = 0;
  std::int64_t repeat_interval = 0;  // ms
  std::string identity{};            // of the task tracker that runs it
};

// Which database has them, for whoever named another.
inline constexpr const char* kLtsDatabase = "the one that LTS's job trackers have as jdbc.url";

// All of them: the definitions, then what waits, by trigger time, then what executes. With groups
// given, theirs alone, whatever their case, as LTS's tables compare names. kNotFound when LTS has
// neither a row nor a table of one of them, kInvalidArgument when there is no table of LTS, or the
// database is one of ours.
Result<std::vector<LtsRow>> read_lts(sql::Connection& database,
                                     const std::vector<std::string>& groups);

}  // namespace carillon::cli
