#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "jobtracker/store/sql/batch_writer.h"
#include "jobtracker/store/sql/sql_reads.h"
#include "jobtracker/store/sql/sql_rows.h"
#include "jobtracker/store/sql/waiting_groups.h"
#include "shared/base/clock.h"

// The reads for clients. Each statement is short, so that it does not block the reuse of a SQLite
// database's log, and reads along a key.
namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::int64_t kNodesMax = 10'000;

constexpr std::string_view kDelayedAtTime =
    " WHERE suspended = ? AND trigger_time_us = ? AND job_id > ?";
constexpr std::string_view kDelayedAfterTime = " WHERE suspended = ? AND trigger_time_us > ?";
constexpr std::string_view kByTime = " ORDER BY trigger_time_us, job_id LIMIT ?";
constexpr std::string_view kSelectId = "SELECT definition_id FROM ";
constexpr std::string_view kFirstIds = " ORDER BY definition_id LIMIT ?";
constexpr std::string_view kAndGroup = " AND group_id = ?";
constexpr std::string_view kCountLog =
    "SELECT group_id, state, final, CAST(SUM(ends) AS SIGNED) FROM lts_log_count "
    "WHERE slot_us >= ? AND slot_us < ?";
constexpr std::string_view kByKindOfEnd =
    " GROUP BY group_id, state, final ORDER BY group_id, state, final";
constexpr std::string_view kScripts =
    "SELECT version, language, remark, source FROM lts_script WHERE definition_id = ? "
    "ORDER BY version DESC";
constexpr std::string_view kOutputOfJob =
    " FROM lts_job_output WHERE job_id = ? AND attempt >= ? AND (attempt > ? OR sequence > ?) "
    "ORDER BY attempt, sequence LIMIT ?";
constexpr std::string_view kCountTimes =
    "SELECT COUNT(*), COALESCE(SUM(CASE WHEN trigger_time_us <= ? THEN 1 ELSE 0 END), 0), "
    "COALESCE(MIN(trigger_time_us), 0) FROM (SELECT trigger_time_us FROM ";
constexpr std::string_view kFirstTimes = " LIMIT ?) AS some";
constexpr std::string_view kFirstDueTimes = " WHERE trigger_time_us <= ? LIMIT ?) AS some";
constexpr std::string_view kCountDelayed =
    "SELECT group_id, COUNT(*) FROM (SELECT group_id FROM lts_delayed_job_queue LIMIT ?) AS some "
    "GROUP BY group_id";

// A condition for rows of these groups; empty: all groups.
std::string and_group_in(const std::vector<GroupId>& groups) {
  if (groups.empty()) return {};
  std::string sql = " AND group_id IN (?";
  for (std::size_t i = 1; i < groups.size(); ++i) sql += ", ?";
  return sql + ")";
}

}  // namespace

Result<ReadAnswer> SqlReads::read(const ListWaiting& ask) {
  if (!ask.delayed) {
    auto jobs = CARILLON_TRY(due(ask.group, WallTime::max(), ask.after, ask.limit));
    if (ask.and_later_groups) CARILLON_TRY(add_of_later_groups(ask, jobs));
    return ReadAnswer{JobsAnswer{std::move(jobs)}};
  }
  const auto after = ask.after.value_or(HandOutKey{0, WallTime::min(), JobId{}});
  std::vector<WaitingJob> jobs;
  const auto select = [&](std::string_view condition, SqlValues values) -> Status {
    if (ask.group) values.push_back(value_of(ask.group));
    values.push_back(Value::of(ask.limit));
    return db_.query(joined({"SELECT ", kDelayedColumns, " FROM ", kDelayedTable, condition,
                             ask.group ? kAndGroup : "", kByTime}),
                     values, [&](const sql::Row& row) { jobs.push_back(delayed_of(row)); });
  };
  for (const bool suspended : {false, true}) {
    CARILLON_TRY(select(kDelayedAtTime, {value_of(suspended), value_of(std::get<1>(after)),
                                         value_of(std::get<2>(after))}));
    CARILLON_TRY(select(kDelayedAfterTime, {value_of(suspended), value_of(std::get<1>(after))}));
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const WaitingJob& a, const WaitingJob& b) { return due_key(a) < due_key(b); });
  if (static_cast<std::int64_t>(jobs.size()) > ask.limit) {
    jobs.resize(static_cast<std::size_t>(ask.limit));
  }
  return ReadAnswer{JobsAnswer{std::move(jobs)}};
}

Status SqlReads::add_of_later_groups(const ListWaiting& ask, std::vector<WaitingJob>& jobs) {
  const auto groups = CARILLON_TRY(read_waiting_groups(db_));
  for (auto next = std::upper_bound(groups.begin(), groups.end(), ask.group);
       next != groups.end() && std::ssize(jobs) < ask.limit; ++next) {
    auto more = CARILLON_TRY(due(*next, WallTime::max(), {}, ask.limit - std::ssize(jobs)));
    std::move(more.begin(), more.end(), std::back_inserter(jobs));
  }
  return {};
}

Result<std::vector<DefinitionId>> SqlReads::definition_ids(const ListDefinitions& ask) {
  std::vector<DefinitionId> ids;
  if (!ask.task_id.empty()) {
    CARILLON_TRY(each_holder({}, ask.task_id, [&](GroupId group, JobId, DefinitionId definition) {
      if (definition > ask.after && is_of(ask.groups, group)) ids.push_back(definition);
    }));
    std::sort(ids.begin(), ids.end());
    ids.resize(std::min(ids.size(), static_cast<std::size_t>(ask.limit)));
    return ids;
  }
  std::string sql;
  SqlValues values;
  for (const std::string_view table : {kCronTable, kRepeatTable}) {
    sql += joined({sql.empty() ? "" : " UNION ALL ", "SELECT definition_id FROM (", kSelectId,
                   table, " WHERE definition_id > ?", and_group_in(ask.groups), kFirstIds,
                   ") AS of_", table});
    values.push_back(value_of(ask.after));
    for (const GroupId group : ask.groups) values.push_back(value_of(group));
    values.push_back(Value::of(ask.limit));
  }
  values.push_back(Value::of(ask.limit));
  CARILLON_TRY(db_.query(sql + std::string{kFirstIds}, values, [&](const sql::Row& row) {
    ids.push_back(DefinitionId{static_cast<std::int32_t>(row.integer(0))});
  }));
  return ids;
}

// First their ids: no spec of another page is read, in the order of both tables.
Result<ReadAnswer> SqlReads::read(const ListDefinitions& ask) {
  const auto ids = CARILLON_TRY(definition_ids(ask));
  DefinitionsAnswer answer;
  if (!ids.empty() && static_cast<std::int64_t>(ids.size()) == ask.limit) answer.next = ids.back();
  SqlValues keys;
  for (const DefinitionId id : ids) keys.push_back(value_of(id));
  CARILLON_TRY(in_lists(keys, [&](std::string_view list, std::span<const Value> chunk) {
    // One statement, so that a definition that moves between the tables is not missed.
    const std::string sql =
        joined({"SELECT ", kDefinitionColumns, " FROM ", kCronTable, " WHERE definition_id IN ",
                list, " UNION ALL SELECT ", kDefinitionColumns, " FROM ", kRepeatTable,
                " WHERE definition_id IN ", list});
    SqlValues values(chunk.begin(), chunk.end());
    values.insert(values.end(), chunk.begin(), chunk.end());
    return db_.query(sql, values, [&](const sql::Row& row) {
      answer.definitions.push_back(definition_of(row));
    });
  }));
  std::sort(answer.definitions.begin(), answer.definitions.end(),
            [](const Definition& a, const Definition& b) { return a.id < b.id; });
  return ReadAnswer{std::move(answer)};
}

Result<ReadAnswer> SqlReads::read(const ListExecuting& ask) {
  ExecutingAnswer answer;
  SqlValues values{value_of(ask.after)};
  for (const GroupId group : ask.groups) values.push_back(value_of(group));
  values.push_back(Value::of(ask.limit));
  CARILLON_TRY(
      db_.query(joined({"SELECT ", kExecutingColumns, " FROM ", kExecutingTable,
                        " WHERE job_id > ?", and_group_in(ask.groups), " ORDER BY job_id LIMIT ?"}),
                values, [&](const sql::Row& row) { answer.jobs.push_back(executing_of(row)); }));
  return ReadAnswer{std::move(answer)};
}

Result<ReadAnswer> SqlReads::read(const ListOutput& ask) {
  OutputAnswer answer;
  CARILLON_TRY(db_.query(
      joined({"SELECT ", kOutputColumns, kOutputOfJob}),
      SqlValues{value_of(ask.job_id), Value::of(ask.after_attempt), Value::of(ask.after_attempt),
                Value::of(ask.after_sequence), Value::of(ask.limit)},
      [&](const sql::Row& row) { answer.rows.push_back(output_of(row)); }));
  return ReadAnswer{std::move(answer)};
}

// For one table.
Result<CountAnswer::PerGroup> SqlReads::count(GroupId group, const CountWaiting& ask) {
  CountAnswer::PerGroup counted{.group = group};
  const std::string_view table = CARILLON_TRY(groups_.table_of(db_, group));
  if (!ask.only_due) {
    CARILLON_TRY(db_.query(joined({kCountTimes, table, kFirstTimes}),
                           SqlValues{value_of(ask.now), Value::of(ask.rows_max)},
                           [&](const sql::Row& row) {
                             counted.waiting = row.integer(0);
                             counted.due = row.integer(1);
                             if (counted.due > 0) counted.due_since = wall_time(row.integer(2));
                           }));
    if (counted.waiting < ask.rows_max) return counted;
  }
  // There may be more rows, and due ones among them.
  CARILLON_TRY(db_.query(joined({kCountTimes, table, kFirstDueTimes}),
                         SqlValues{value_of(ask.now), value_of(ask.now), Value::of(ask.rows_max)},
                         [&](const sql::Row& row) {
                           counted.due = row.integer(0);
                           if (counted.due > 0) counted.due_since = wall_time(row.integer(2));
                         }));
  if (ask.only_due) counted.waiting = counted.due;
  return counted;
}

Result<ReadAnswer> SqlReads::read(const CountWaiting& ask) {
  // A database opens thousands of tables in seconds.
  const SystemClock clock;
  const SteadyTime began = clock.steady_now();
  const auto is_late = [&] {
    return ask.time_max > Duration{} && clock.steady_now() - began > ask.time_max;
  };
  std::map<GroupId, std::int64_t> delayed;
  if (!ask.only_due) {
    CARILLON_TRY(
        db_.query(kCountDelayed, SqlValues{Value::of(ask.rows_max)}, [&](const sql::Row& row) {
          const GroupId group{static_cast<std::int32_t>(row.integer(0))};
          delayed[group] = row.integer(1);
        }));
  }
  std::set<GroupId> groups(ask.groups.begin(), ask.groups.end());
  if (groups.empty()) {
    for (const Group& one : CARILLON_TRY(groups_.read_all(db_))) groups.insert(one.id);
  }
  const auto waiting = CARILLON_TRY(read_waiting_groups(db_));
  CountAnswer answer;
  for (const GroupId group : groups) {
    CountAnswer::PerGroup counted{.group = group};
    if (std::binary_search(waiting.begin(), waiting.end(), group)) {
      if (is_late()) {
        counted.is_known = false;
      } else {
        counted = CARILLON_TRY(count(group, ask));
      }
    }
    counted.waiting += delayed[group];
    answer.groups.push_back(counted);
  }
  return ReadAnswer{std::move(answer)};
}

Result<ReadAnswer> SqlReads::read(const CountLog& ask) {
  SqlValues values{value_of(ask.from), value_of(ask.until)};
  for (const GroupId group : ask.groups) values.push_back(value_of(group));
  LogCountAnswer answer;
  CARILLON_TRY(db_.query(joined({kCountLog, and_group_in(ask.groups), kByKindOfEnd}), values,
                         [&](const sql::Row& row) {
                           answer.counts.push_back(
                               {.group = GroupId{static_cast<std::int32_t>(row.integer(0))},
                                .state = static_cast<LogState>(row.integer(1)),
                                .final = row.integer(2) != 0,
                                .ends = row.integer(3)});
                         }));
  return ReadAnswer{std::move(answer)};
}

Result<ReadAnswer> SqlReads::read(const ListScripts& ask) {
  ScriptsAnswer answer;
  CARILLON_TRY(db_.query(kScripts, SqlValues{value_of(ask.definition)}, [&](const sql::Row& row) {
    answer.versions.push_back({.version = row.integer(0),
                               .language = std::string{row.bytes(1)},
                               .source = std::string{row.bytes(3)},
                               .remark = std::string{row.bytes(2)}});
  }));
  return ReadAnswer{std::move(answer)};
}

Result<ReadAnswer> SqlReads::read(const ListNodes&) {
  NodesAnswer answer;
  CARILLON_TRY(
      db_.query(joined({"SELECT ", kNodeColumns, " FROM lts_node ORDER BY session_id LIMIT ?"}),
                SqlValues{Value::of(kNodesMax)},
                [&](const sql::Row& row) { answer.nodes.push_back(node_of(row)); }));
  return ReadAnswer{std::move(answer)};
}

}  // namespace carillon::jobtracker
