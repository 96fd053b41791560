#include "jobtracker/store/sql/waiting_scan.h"

#include "jobtracker/store/sql/sql_rows.h"

namespace carillon::jobtracker {
namespace {

using sql::Value;

// On MySQL one statement skips from priority to priority along the index; SQLite has no such plan,
// but its single steps need no round trip.
constexpr std::string_view kMysqlPriorities =
    " WHERE priority >= ? GROUP BY priority ORDER BY priority";
constexpr std::string_view kSqliteNextPriority =
    " WHERE priority >= ? ORDER BY priority, trigger_time_us LIMIT 1";
constexpr std::string_view kAtTime =
    " WHERE priority = ? AND trigger_time_us = ? AND job_id > ? "
    "ORDER BY trigger_time_us, job_id LIMIT ?";
constexpr std::string_view kAfterTime =
    " WHERE priority = ? AND trigger_time_us > ? AND trigger_time_us <= ? "
    "ORDER BY trigger_time_us, job_id LIMIT ?";

// The table, to be read along its order of hand-out, whatever the planner guesses.
std::string in_order(sql::Dialect dialect, std::string_view table) {
  if (dialect == sql::Dialect::kMysql) return joined({table, " FORCE INDEX (hand_out)"});
  return joined({table, " INDEXED BY \"", table, ".order\""});
}

}  // namespace

Status WaitingScan::each_priority(
    int first, const std::function<Result<bool>(int priority, WallTime earliest)>& visit) {
  struct Head {
    int priority = 0;
    WallTime earliest{};
  };
  const bool is_mysql = db_.dialect() == sql::Dialect::kMysql;
  const auto source = in_order(db_.dialect(), table_);
  const std::string sql =
      is_mysql ? joined({"SELECT priority, MIN(trigger_time_us) FROM ", source, kMysqlPriorities})
               : joined({"SELECT priority, trigger_time_us FROM ", source, kSqliteNextPriority});
  std::vector<Head> heads;
  do {
    heads.clear();
    CARILLON_TRY(db_.query(sql, SqlValues{Value::of(first)}, [&](const sql::Row& row) {
      heads.push_back(
          {.priority = static_cast<int>(row.integer(0)), .earliest = wall_time(row.integer(1))});
    }));
    for (const Head& head : heads) {
      if (!CARILLON_TRY(visit(head.priority, head.earliest))) return {};
      first = head.priority + 1;
    }
  } while (!is_mysql && !heads.empty());
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
