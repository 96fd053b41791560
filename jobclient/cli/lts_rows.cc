#include "jobclient/cli/lts_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "jobclient/cli/text_width.h"
#include "shared/base/utf8.h"

namespace carillon::cli {
namespace {

constexpr std::string_view kWaitingPrefix = "lts_wjq_";
constexpr const char* kColumns =
    "id, job_id, job_type, task_id, real_task_id, task_tracker_node_group, submit_node_group, "
    "priority, retry_times, max_retry_times, rely_on_prev_cycle, need_feedback, ext_params, "
    "internal_ext_params, cron_expression, trigger_time, repeat_count, repeated_count, "
    "repeat_interval, task_tracker_identity";

std::optional<LtsQueue> queue_of(std::string_view table) {
  if (table == "lts_cron_job_queue") return LtsQueue::kCron;
  if (table == "lts_repeat_job_queue") return LtsQueue::kRepeat;
  if (table == "lts_suspend_job_queue") return LtsQueue::kSuspended;
  if (table == "lts_executing_job_queue") return LtsQueue::kExecuting;
  if (table.starts_with(kWaitingPrefix)) return LtsQueue::kWaiting;
  return std::nullopt;
}

// A table of LTS is named after a node group, which may have any character.
std::string in_quotes(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? "\"\"" : std::string{c};
  return text + "\"";
}

LtsRow row_of(LtsQueue queue, const sql::Row& from) {
  int column = 0;
  const auto number = [&](std::int64_t fallback) {
    const int at = column++;
    return from.is_null(at) ? fallback : from.integer(at);
  };
  const auto text = [&] { return std::string{from.bytes(column++)}; };
  LtsRow row{.queue = queue};
  row.id = number(0);
  row.job_id = text();
  row.job_type = text();
  row.task_id = text();
  row.real_task_id = text();
  row.group = text();
  row.submit_group = text();
  row.priority = number(100);
  row.retry_times = number(0);
  row.max_retry_times = number(0);
  row.relies_on_prev_cycle = number(1) != 0;
  row.needs_feedback = number(0) != 0;
  row.ext_params = text();
  row.internal_ext_params = text();
  row.cron = text();
  if (const std::int64_t time = number(0); time != 0) row.trigger_time = time;
  row.repeat_count = number(0);
  row.repeated_count = number(0);
  row.repeat_interval = number(0);
  row.identity = text();
  return row;
}

// The node groups of LTS, by their names in lower case.
using Groups = std::map<std::string, std::string>;

Status check_known(const std::vector<std::string>& wanted, const Groups& known) {
  std::vector<std::string> names;
  for (const auto& [key, name] : known) names.push_back(name);
  for (const std::string& name : wanted) {
    if (known.contains(lower_ascii(name))) continue;
    return Error{ErrorCode::kNotFound,
                 "LTS has no node group '" + name + "'" + those_there_are(names)};
  }
  return {};
}

// `known`: of all rows, also of those that are not wanted.
Status read_table(sql::Connection& database, LtsQueue queue, const std::string& table,
                  const std::vector<std::string>& groups, std::vector<LtsRow>& rows,
                  Groups& known) {
  const std::string sql = std::string{"SELECT "} + kColumns + " FROM " + in_quotes(table) +
                          " ORDER BY trigger_time, id";
  const Status status = database.query(sql, {}, [&](const sql::Row& from) {
    LtsRow row = row_of(queue, from);
    const std::string key = lower_ascii(row.group);
    known.emplace(key, row.group);
    const bool is_wanted =
        groups.empty() || std::any_of(groups.begin(), groups.end(), [&key](const auto& group) {
          return lower_ascii(group) == key;
        });
    if (is_wanted) rows.push_back(std::move(row));
  });
  if (status.ok()) return status;
  return Error{status.error().code,
               "cannot read " + table + " as a table of LTS 1.7: " + status.error().message};
}

}  // namespace

const char* to_string(LtsQueue queue) {
  switch (queue) {
    case LtsQueue::kCron:
      return "cron";
    case LtsQueue::kRepeat:
      return "repeat";
    case LtsQueue::kSuspended:
      return "suspended";
    case LtsQueue::kWaiting:
      return "waiting";
    case LtsQueue::kExecuting:
      return "executing";
  }
  return "";
}

Result<std::vector<LtsRow>> read_lts(sql::Connection& database,
                                     const std::vector<std::string>& groups) {
  std::vector<std::pair<LtsQueue, std::string>> tables;
  bool is_ours = false;
  CARILLON_TRY(database.query(
      "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = DATABASE()", {},
      [&tables, &is_ours](const sql::Row& row) {
        const std::string name{row.bytes(0)};
        is_ours = is_ours || name == "lts_schema";
        if (const auto queue = queue_of(name)) tables.emplace_back(*queue, name);
      }));
  // Some of its tables have the names of LTS's.
  if (is_ours) {
    return Error{ErrorCode::kInvalidArgument,
                 "this database is the store of a Carillon job tracker, not of LTS"};
  }
  if (tables.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 std::string{"no tables of LTS (lts_cron_job_queue and the like) in this database: "
                             "name "} +
                     kLtsDatabase};
  }
  std::sort(tables.begin(), tables.end());
  std::vector<LtsRow> rows;
  Groups known;
  for (const auto& [queue, table] : tables) {
    CARILLON_TRY(read_table(database, queue, table, groups, rows, known));
  }
  // A table may be there without a row, and its name has less of the group's case.
  for (const auto& [queue, table] : tables) {
    if (queue != LtsQueue::kWaiting) continue;
    const std::string name = table.substr(kWaitingPrefix.size());
    known.emplace(lower_ascii(name), name);
  }
  CARILLON_TRY(check_known(groups, known));
  return rows;
}

}  // namespace carillon::cli
