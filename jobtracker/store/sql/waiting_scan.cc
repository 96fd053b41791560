#include "jobtracker/store/sql/waiting_scan.h"

#include "jobtracker/store/sql/sql_rows.h"

namespace carillon::jobtracker {
namespace {

using sql::Value;

// One step per priority; usually the first one or two are enough. A single statement with GROUP BY
// would need no round trips, but MariaDB may read the whole index for it: 0.3 s for a million rows,
// at every refill.
constexpr std::string_view kNextPriority =
    " WHERE priority >= ? ORDER BY priority, trigger_time_us LIMIT 1";
constexpr std::string_view kAtTime =
    " WHERE priority = ? AND trigger_time_us = ? AND job_id > ? "
    "ORDER BY trigger_time_us, job_id LIMIT ?";
constexpr std::string_view kAfterTime =
    " WHERE priority = ? AND trigger_time_us > ? AND trigger_time_us <= ? "
    "ORDER BY trigger_time_us, job_id LIMIT ?";

// Reads the table in dispatch order, whatever the planner estimates.
std::string in_order(sql::Dialect dialect, std::string_view table) {
  if (dialect == sql::Dialect::kMysql) return joined({table, " FORCE INDEX (hand_out)"});
  return joined({table, " INDEXED BY \"", table, ".order\""});
}

}  // namespace

Status WaitingScan::each_priority(
    int first, const std::function<Result<bool>(int priority, WallTime earliest)>& visit) {
  const std::string sql = joined(
      {"SELECT priority, trigger_time_us FROM ", in_order(db_.dialect(), table_), kNextPriority});
  bool goes_on = true;
  while (goes_on) {
    goes_on = false;
    WallTime earliest{};
    CARILLON_TRY(db_.query(sql, SqlValues{Value::of(first)}, [&](const sql::Row& row) {
      first = static_cast<int>(row.integer(0));
      earliest = wall_time(row.integer(1));
      goes_on = true;
    }));
    if (goes_on) goes_on = CARILLON_TRY(visit(first, earliest));
    ++first;
  }
  return {};
}

Status WaitingScan::read(int priority, WallTime after_time, JobId after_id, WallTime through,
                         std::int64_t limit, std::vector<WaitingJob>& jobs) {
  const std::size_t before = jobs.size();
  if (after_time > WallTime::min() && after_time <= through) {
    CARILLON_TRY(select(
        kAtTime,
        SqlValues{Value::of(priority), value_of(after_time), value_of(after_id), Value::of(limit)},
        jobs));
    limit -= static_cast<std::int64_t>(jobs.size() - before);
  }
  if (limit <= 0) return {};
  return select(
      kAfterTime,
      SqlValues{Value::of(priority), value_of(after_time), value_of(through), Value::of(limit)},
      jobs);
}

Status WaitingScan::select(std::string_view condition, std::span<const Value> parameters,
                           std::vector<WaitingJob>& jobs) {
  return db_.query(
      joined({"SELECT ", kWaitingColumns, " FROM ", in_order(db_.dialect(), table_), condition}),
      parameters, [&](const sql::Row& row) { jobs.push_back(waiting_of(row, group_)); });
}

}  // namespace carillon::jobtracker
