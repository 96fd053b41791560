#include <algorithm>
#include <map>
#include <utility>

#include "jobtracker/store/sql/batch_writer.h"
#include "jobtracker/store/sql/sql_reads.h"
#include "jobtracker/store/sql/sql_rows.h"

// The reads of a session at its start.
namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr int kSelectsAtOnce = 32;
constexpr std::string_view kSelectDefinitionHigh = "SELECT definition_id FROM lts_definition_high";

bool by_id(const Definition& a, const Definition& b) { return a.id < b.id; }

}  // namespace

Result<ReadAnswer> SqlReads::read(const ReadStart& ask) {
  StartAnswer answer;
  answer.groups = CARILLON_TRY(groups_.read_all(db_));
  answer.definitions = CARILLON_TRY(definitions(ask, answer.groups));
  CARILLON_TRY(db_.query(
      joined({"SELECT ", kExecutingColumns, " FROM ", kExecutingTable, " ORDER BY job_id"}), {},
      [&](const sql::Row& row) { answer.executing.push_back(executing_of(row)); }));
  CARILLON_TRY(db_.query(kSelectDefinitionHigh, {}, [&](const sql::Row& row) {
    answer.definition_high = DefinitionId{static_cast<std::int32_t>(row.integer(0))};
  }));
  answer.retries = CARILLON_TRY(retries(ask, answer.definitions));
  answer.feedback = CARILLON_TRY(feedback_counts()).rows;
  CARILLON_TRY(read_executors(answer.executor_groups, answer.executors));
  CARILLON_TRY(read_all(kPushRunColumns, kPushRunTable, "log_id", &push_run_of, answer.push_runs));
  CARILLON_TRY(read_all(kRouteColumns, kRouteTable, "definition_id", &route_of, answer.routes));
  CARILLON_TRY(read_all(kAlarmColumns, kAlarmTable, "alarm_id, line", &alarm_of, answer.alarms));
  answer.silences = CARILLON_TRY(silences());
  return ReadAnswer{std::move(answer)};
}

// By id. If all are wanted, the whole table is read.
Result<std::vector<Definition>> SqlReads::definitions(const ReadStart& ask,
                                                      const std::vector<Group>& groups) {
  const Partitions wanted = owned_ & ~ask.known;
  std::vector<Definition> found;
  SqlValues wanted_groups;
  for (const Group& group : groups) {
    if (has_group(wanted, group.id)) wanted_groups.push_back(value_of(group.id));
  }
  SqlValues unsettled;
  for (const DefinitionId id : ask.unsettled) unsettled.push_back(value_of(id));
  for (const std::string_view table : {kCronTable, kRepeatTable}) {
    const auto read = [&](const Partitions& of, std::string_view condition,
                          std::span<const Value> values) {
      return db_.query(joined({"SELECT ", kDefinitionColumns, " FROM ", table, condition}), values,
                       [&](const sql::Row& row) {
                         Definition one = definition_of(row);
                         if (has_group(of, one.group)) found.push_back(std::move(one));
                       });
    };
    if (wanted_groups.size() == groups.size()) {
      CARILLON_TRY(read(wanted, " ORDER BY definition_id", {}));
      continue;
    }
    CARILLON_TRY(in_lists(wanted_groups, [&](std::string_view list, std::span<const Value> chunk) {
      return read(wanted, joined({" WHERE group_id IN ", list}), chunk);
    }));
    CARILLON_TRY(in_lists(unsettled, [&](std::string_view list, std::span<const Value> chunk) {
      return read(owned_ & ask.known, joined({" WHERE definition_id IN ", list}), chunk);
    }));
  }
  std::sort(found.begin(), found.end(), by_id);
  return found;
}

// Of owned groups, many at a time: no job runs until they are read.
Result<std::vector<WaitingJob>> SqlReads::retries(const ReadStart& ask,
                                                  const std::vector<Definition>& definitions) {
  std::map<GroupId, SqlValues> read;
  for (const Definition& one : definitions) read[one.group].push_back(value_of(one.id));
  std::map<GroupId, SqlValues> tried = CARILLON_TRY(tried_definitions(ask, read));
  std::vector<WaitingJob> found;
  for (const auto& [group, ids] : tried) {
    const std::string_view table = CARILLON_TRY(groups_.table_of(db_, group));
    CARILLON_TRY(in_lists(ids, [&](std::string_view list, std::span<const Value> chunk) {
      return db_.query(joined({"SELECT ", kWaitingColumns, " FROM ", table,
                               " WHERE attempt > 0 AND definition_id IN ", list}),
                       chunk,
                       [&](const sql::Row& row) { found.push_back(waiting_of(row, group)); });
    }));
  }
  CARILLON_TRY(delayed_retries(found));
  const auto is_wanted = [&](const WaitingJob& job) {
    if (!has_group(owned_, job.group)) return false;
    return !has_group(ask.known, job.group) ||
           std::binary_search(definitions.begin(), definitions.end(),
                              Definition{.id = job.definition}, by_id);
  };
  std::erase_if(found, [&](const WaitingJob& job) { return !is_wanted(job); });
  std::sort(found.begin(), found.end(),
            [](const WaitingJob& a, const WaitingJob& b) { return a.id < b.id; });
  return found;
}

// The definitions with waiting retries, also removed ones. It leaps along the index for each
// definition with rows, past the many generated ones. Known groups are searched only for
// definitions that were read.
Result<std::map<GroupId, SqlValues>> SqlReads::tried_definitions(
    const ReadStart& ask, const std::map<GroupId, SqlValues>& read) {
  std::map<GroupId, SqlValues> tried;
  std::string select;
  int asked = 0;
  const auto ask_all = [&]() -> Status {
    if (select.empty()) return {};
    return db_.query(std::exchange(select, {}), {}, [&](const sql::Row& row) {
      tried[GroupId{static_cast<std::int32_t>(row.integer(0))}].push_back(
          Value::of(row.integer(1)));
    });
  };
  for (const auto& [group, ids] : read) {
    if (has_group(ask.known, group)) {
      tried[group] = ids;
      continue;
    }
    const std::string_view table = CARILLON_TRY(groups_.table_of(db_, group));
    select += joined({select.empty() ? "" : " UNION ALL ", "SELECT ", std::to_string(group.value),
                      " AS group_id, definition_id, MAX(attempt) AS most FROM ", table,
                      " WHERE definition_id > 0 GROUP BY definition_id HAVING MAX(attempt) > 0"});
    if (++asked % kSelectsAtOnce == 0) CARILLON_TRY(ask_all());
  }
  CARILLON_TRY(ask_all());
  return tried;
}

// Few delayed jobs were tried before.
Status SqlReads::delayed_retries(std::vector<WaitingJob>& found) {
  const bool is_mysql = db_.dialect() == sql::Dialect::kMysql;
  return db_.query(
      joined({"SELECT ", kDelayedColumns, " FROM ", kDelayedTable,
              is_mysql ? " FORCE INDEX (tried)" : "", " WHERE definition_id > 0 AND attempt > 0"}),
      {}, [&](const sql::Row& row) { found.push_back(delayed_of(row)); });
}

}  // namespace carillon::jobtracker
