#include <algorithm>
#include <map>

#include "jobtracker/store/sql/batch_writer.h"
#include "jobtracker/store/sql/sql_reads.h"
#include "jobtracker/store/sql/sql_rows.h"

// What people ask. Every statement is short, so that none keeps the log of a SQLite database from
// being reused, and reads along a key.
namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::int64_t kFirstLogRows = 2'000;  // log rows looked at by one statement
constexpr std::int64_t kLogRowsMax = 32'000;
constexpr std::int64_t kNodesMax = 10'000;

constexpr std::string_view kDelayedAtTime =
    " WHERE suspended = ? AND trigger_time_us = ? AND job_id > ?";
constexpr std::string_view kDelayedAfterTime = " WHERE suspended = ? AND trigger_time_us > ?";
constexpr std::string_view kByTime = " ORDER BY trigger_time_us, job_id LIMIT ?";
constexpr std::string_view kSelectId = "SELECT definition_id FROM ";
constexpr std::string_view kFirstIds = " ORDER BY definition_id LIMIT ?";
constexpr std::string_view kAndGroup = " AND group_id = ?";
constexpr std::string_view kAndTask = " AND task_id = ?";
// Texts compare there without regard to blanks at their end.
constexpr std::string_view kAndTaskMysql = " AND CAST(task_id AS BINARY) = ?";
constexpr std::string_view kAndJob = " AND job_id = ?";
constexpr std::string_view kSelectLogBounds =
    "SELECT MIN(log_id), MAX(ended_us), COUNT(*) FROM (SELECT log_id, ended_us FROM lts_job_log "
    "WHERE log_id > ? AND log_id < ? ORDER BY log_id DESC LIMIT ?) AS newest";
constexpr std::string_view kLogRange =
    " FROM lts_job_log WHERE log_id >= ? AND log_id < ? AND ended_us >= ?";
constexpr std::string_view kCountLog =
    "SELECT group_id, state, final, CAST(SUM(ends) AS SIGNED) FROM lts_log_count "
    "WHERE slot_us >= ? AND slot_us < ?";
constexpr std::string_view kByKindOfEnd =
    " GROUP BY group_id, state, final ORDER BY group_id, state, final";
constexpr std::string_view kScripts =
    "SELECT version, language, remark, source FROM lts_script WHERE definition_id = ? "
    "ORDER BY version DESC";
constexpr std::string_view kNewestFirst = " ORDER BY log_id DESC LIMIT ?";
constexpr std::string_view kOutputOfJob =
    " FROM lts_job_output WHERE job_id = ? AND attempt >= ? AND (attempt > ? OR sequence > ?) "
    "ORDER BY attempt, sequence LIMIT ?";
constexpr std::string_view kCountDelayed =
    "SELECT group_id, COUNT(*) FROM (SELECT group_id FROM lts_delayed_job_queue LIMIT ?) AS some "
    "GROUP BY group_id";

// A condition that rows are of one of the groups; none: of any.
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

// Their ids first: in the order of both tables no spec is read that is not of the page.
Result<ReadAnswer> SqlReads::read(const ListDefinitions& ask) {
  const auto ids = CARILLON_TRY(definition_ids(ask));
  DefinitionsAnswer answer;
  if (!ids.empty() && static_cast<std::int64_t>(ids.size()) == ask.limit) answer.next = ids.back();
  SqlValues keys;
  for (const DefinitionId id : ids) keys.push_back(value_of(id));
  CARILLON_TRY(in_lists(keys, [&](std::string_view list, std::span<const Value> chunk) {
    // One statement, which misses none that moves from one table to the other just then.
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

Result<ReadAnswer> SqlReads::read(const ListHistory& ask) {
  HistoryAnswer answer;
  const std::string_view and_task =
      db_.dialect() == sql::Dialect::kMysql ? kAndTaskMysql : kAndTask;
  const std::string sql =
      joined({"SELECT ", kLogColumns, kLogRange, and_group_in(ask.groups),
              ask.task_id.empty() ? "" : and_task, ask.job_id ? kAndJob : "", kNewestFirst});
  std::int64_t before =
      ask.before_id != 0 ? ask.before_id : std::numeric_limits<std::int64_t>::max();
  // The log has no index but its own order, which is that of time: it is read backwards in pieces.
  // Job and log ids come from one growing source, so a job's rows are all above its id.
  for (std::int64_t piece = kFirstLogRows;; piece = std::min(2 * piece, kLogRowsMax)) {
    const std::int64_t wanted = ask.limit - static_cast<std::int64_t>(answer.entries.size());
    if (wanted <= 0) break;
    std::int64_t first = 0;
    std::int64_t rows = 0;
    WallTime newest{};
    CARILLON_TRY(db_.query(kSelectLogBounds,
                           SqlValues{value_of(ask.job_id), Value::of(before), Value::of(piece)},
                           [&](const sql::Row& row) {
                             first = row.integer(0);
                             newest = wall_time(row.integer(1));
                             rows = row.integer(2);
                           }));
    // Results may come late, but not so late that a whole piece is older than a row before it.
    if (rows == 0 || newest < ask.since) break;
    SqlValues values{Value::of(first), Value::of(before), value_of(ask.since)};
    for (const GroupId group : ask.groups) values.push_back(value_of(group));
    if (!ask.task_id.empty()) values.push_back(key_of_task(db_.dialect(), ask.task_id));
    if (ask.job_id) values.push_back(value_of(ask.job_id));
    values.push_back(Value::of(wanted));
    CARILLON_TRY(db_.query(sql, values,
                           [&](const sql::Row& row) { answer.entries.push_back(log_of(row)); }));
    if (rows < piece) break;
    before = first;
  }
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

Result<SqlReads::Counted> SqlReads::count(std::string_view table, std::string_view condition,
                                          std::span<const Value> parameters) {
  Counted counted;
  CARILLON_TRY(db_.query(joined({"SELECT COUNT(*), COALESCE(MIN(trigger_time_us), 0) FROM "
                                 "(SELECT trigger_time_us FROM ",
                                 table, condition, " LIMIT ?) AS some"}),
                         parameters, [&](const sql::Row& row) {
                           counted = {.rows = row.integer(0), .first = wall_time(row.integer(1))};
                         }));
  return counted;
}

Result<ReadAnswer> SqlReads::read(const CountWaiting& ask) {
  std::map<GroupId, std::int64_t> delayed;
  CARILLON_TRY(
      db_.query(kCountDelayed, SqlValues{Value::of(ask.rows_max)}, [&](const sql::Row& row) {
        const GroupId group{static_cast<std::int32_t>(row.integer(0))};
        delayed[group] = row.integer(1);
      }));
  CountAnswer answer;
  for (const Group& group : CARILLON_TRY(groups_.read_all(db_))) {
    if (!is_of(ask.groups, group.id)) continue;
    const std::string_view table = CARILLON_TRY(groups_.table_of(db_, group.id));
    const auto waiting = CARILLON_TRY(count(table, "", SqlValues{Value::of(ask.rows_max)}));
    const auto due_rows =
        CARILLON_TRY(count(table, " WHERE trigger_time_us <= ?",
                           SqlValues{value_of(ask.now), Value::of(ask.rows_max)}));
    answer.groups.push_back({.group = group.id,
                             .waiting = waiting.rows + delayed[group.id],
                             .due = due_rows.rows,
                             .due_since = due_rows.first});
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
