#include <algorithm>
#include <map>
#include <utility>

#include "jobtracker/store/request_slots.h"
#include "jobtracker/store/sql/batch_writer.h"

// Changes of definitions. Changes that only record a fire are written in sets; others with
// conditional statements of their own.
namespace carillon::jobtracker {
namespace {

using sql::Value;

// definition_id is the primary key; an edit changes the version, a generation changes the third
// column.
constexpr std::string_view kKeyColumns[] = {"definition_id", "version", "generated_through_us"};
constexpr std::string_view kSetColumns[] = {"version",
                                            "kind",
                                            "state",
                                            "created_us",
                                            "next_fire_us",
                                            "last_fire_us",
                                            "generated_through_us",
                                            "fired"};
constexpr std::string_view kSetSpec = " SET schedule = ?, tz = ?, spec = ?";
constexpr std::string_view kWhereVersion = " WHERE definition_id = ? AND version = ?";
constexpr std::string_view kAndGenerated = " AND generated_through_us = ?";
constexpr std::string_view kDeleteKey =
    "DELETE FROM lts_task_id WHERE group_id = ? AND task_id = ? AND definition_id = ?";
constexpr std::string_view kMoveScripts =
    "UPDATE lts_script SET definition_id = ? WHERE definition_id = ?";
constexpr std::string_view kMoveRoute =
    "UPDATE lts_push_route SET definition_id = ? WHERE definition_id = ?";
constexpr std::string_view kCancelRun =
    "UPDATE lts_executing_job_queue SET cancelled = 1 WHERE job_id = ?";
constexpr std::string_view kLeaveSpec =
    "UPDATE lts_executing_job_queue SET spec = ? "
    "WHERE job_id = ? AND definition_id = ? AND LENGTH(spec) = 0";
constexpr std::string_view kSelectDue = "SELECT COUNT(*), MIN(trigger_time_us) FROM ";
constexpr std::string_view kDueOfDefinition =
    " WHERE definition_id = ? AND trigger_time_us <= ? AND attempt = 0 AND triggered <> 1";
constexpr std::string_view kSelectRuns =
    "SELECT job_id, COALESCE(moved_from_us, trigger_time_us) FROM ";
constexpr std::string_view kRunsOfDefinition =
    " WHERE definition_id = ? AND (attempt > 0 OR triggered = 1) ORDER BY job_id";
constexpr std::string_view kRunsOfGrid =
    " WHERE definition_id = ? AND attempt > 0 AND triggered <> 1 ORDER BY job_id";
constexpr std::string_view kAndOfGrid = " AND triggered <> 1";
constexpr std::string_view kSelectCount = "SELECT COUNT(*) FROM ";
// is_fire() and not was_tried() in SQL.
constexpr std::string_view kUntriedOfGrid =
    " WHERE definition_id = ? AND triggered <> 1 AND failures = 0 AND lost <= 0 "
    "AND moved_from_us IS NULL";

std::string condition_of(const ChangeDefinition& change) {
  return joined({kWhereVersion, change.expected_generated_through ? kAndGenerated : ""});
}

void append_condition(SqlValues& values, const ChangeDefinition& change) {
  values.push_back(value_of(change.id));
  values.push_back(Value::of(change.expected_version));
  if (change.expected_generated_through) {
    values.push_back(value_of(*change.expected_generated_through));
  }
}

// The stored definition in this table, if it is as expected.
Result<std::optional<Definition>> read_expected(WriteContext& context, std::string_view table,
                                                const ChangeDefinition& change) {
  std::optional<Definition> stored;
  SqlValues values;
  append_condition(values, change);
  CARILLON_TRY(context.db.query(
      joined({"SELECT ", kDefinitionColumns, " FROM ", table, condition_of(change)}), values,
      [&](const sql::Row& row) { stored = definition_of(row); }));
  return stored;
}

Status delete_definition(WriteContext& context, std::string_view table, DefinitionId id) {
  CARILLON_TRY(context.db.execute(joined({"DELETE FROM ", table, " WHERE definition_id = ?"}),
                                  SqlValues{value_of(id)}));
  return {};
}

// After an edit from cron to every or vice versa, the row moves to the other table.
Result<bool> move_definition(WriteContext& context, const ChangeDefinition& change) {
  const bool to_cron = change.to->kind == ScheduleKind::kCron;
  const std::string_view from = to_cron ? kRepeatTable : kCronTable;
  const auto stored = CARILLON_TRY(read_expected(context, from, change));
  if (!stored) return false;
  CARILLON_TRY(delete_definition(context, from, change.id));
  Definition moved = *change.to;
  moved.id = stored->id;
  moved.group = stored->group;
  moved.task_id = stored->task_id;
  moved.keyed = stored->keyed;
  if (!change.spec_changed) moved.spec = stored->spec;
  RowBuffer rows;
  rows.add_definition(moved, context.describe);
  CARILLON_TRY(rows.flush(context.db, context.groups, context.waiting_groups));
  return true;
}

// The columns of update_rows().
std::span<const std::string_view> key_columns(const ChangeDefinition& change) {
  return std::span{kKeyColumns}.first(change.expected_generated_through ? 3 : 2);
}

void append_row(SqlValues& values, const ChangeDefinition& change) {
  append_condition(values, change);
  const Definition& to = *change.to;
  values.insert(values.end(),
                {Value::of(to.version), Value::of(static_cast<std::int64_t>(to.kind)),
                 Value::of(static_cast<std::int64_t>(to.state)), value_of(to.created_at),
                 value_of(to.next_fire), value_of(to.last_fire), value_of(to.generated_through),
                 Value::of(to.fired)});
}

// Updates the rows of `indices` in one table with the same key columns. If a row is not as expected
// there, it is a conflict, or moves.
Status update_definitions(WriteContext& context, std::string_view table,
                          const OperationIndices& indices) {
  SqlValues values;
  for (const std::size_t index : indices) {
    append_row(values, context.operation<ChangeDefinition>(index));
  }
  context.about(indices);
  const auto& first = context.operation<ChangeDefinition>(indices.front());
  const auto found =
      CARILLON_TRY(context.db.update_rows(table, key_columns(first), kSetColumns, values));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto& change = context.operation<ChangeDefinition>(indices[i]);
    if (found[i] || CARILLON_TRY(move_definition(context, change))) continue;
    context.conflict(indices[i]);
  }
  return {};
}

Status update_spec(WriteContext& context, const ChangeDefinition& change) {
  const Definition& to = *change.to;
  ScheduleText text;
  if (context.describe) text = context.describe(to.spec);
  CARILLON_TRY(context.db.execute(
      joined({"UPDATE ", definition_table(to.kind), kSetSpec, " WHERE definition_id = ?"}),
      SqlValues{Value::of_text(text.schedule), Value::of_text(text.tz), Value::of_bytes(to.spec),
                value_of(change.id)}));
  return {};
}

Result<bool> remove_definition(WriteContext& context, const ChangeDefinition& change) {
  for (const std::string_view table : {kCronTable, kRepeatTable}) {
    const auto stored = CARILLON_TRY(read_expected(context, table, change));
    if (!stored) continue;
    CARILLON_TRY(delete_definition(context, table, change.id));
    CARILLON_TRY(context.db.execute(
        kDeleteKey,
        SqlValues{value_of(stored->group), key_of_task(context.db.dialect(), stored->task_id),
                  value_of(stored->id)}));
    if (change.scripts_to) {
      CARILLON_TRY(context.db.execute(kMoveScripts,
                                      SqlValues{value_of(change.scripts_to), value_of(change.id)}));
    } else {
      CARILLON_TRY(delete_definition(context, kScriptTable, change.id));
    }
    if (change.routes_to) {
      CARILLON_TRY(context.db.execute(kMoveRoute,
                                      SqlValues{value_of(change.routes_to), value_of(change.id)}));
    }
    for (const JobId run : change.runs) {
      if (change.cancels_runs)
        CARILLON_TRY(context.db.execute(kCancelRun, SqlValues{value_of(run)}));
      if (change.leaves_spec) {
        CARILLON_TRY(context.db.execute(kLeaveSpec, SqlValues{Value::of_bytes(stored->spec),
                                                              value_of(run), value_of(change.id)}));
      }
    }
    return true;
  }
  return false;
}

// The log rows for runs that are about to be voided.
Status log_voided(WriteContext& context, const ChangeDefinition& change,
                  std::string_view group_table) {
  LogEntry entry = *change.voided;
  const SqlValues values{value_of(change.id), value_of(entry.ended_at)};
  std::int64_t count = 0;
  WallTime first = WallTime::max();
  for (const std::string_view table : {group_table, kDelayedTable}) {
    CARILLON_TRY(context.db.query(joined({kSelectDue, table, kDueOfDefinition}), values,
                                  [&](const sql::Row& row) {
                                    if (row.integer(0) == 0) return;
                                    count += row.integer(0);
                                    first = std::min(first, wall_time(row.integer(1)));
                                  }));
  }
  std::int64_t runs = 0;
  for (const std::string_view table : {group_table, kDelayedTable}) {
    CARILLON_TRY(context.db.query(
        joined({kSelectRuns, table, change.spares_triggered ? kRunsOfGrid : kRunsOfDefinition}),
        SqlValues{value_of(change.id)}, [&](const sql::Row& row) {
          if (++runs > kVoidedRunsMax) return;
          context.rows.add_log(context.rows.keep(
              entry_of_run(entry, runs, JobId{row.integer(0)}, wall_time(row.integer(1)))));
        }));
  }
  CARILLON_TRY(check_voided_runs(change.id, runs));
  if (!std::exchange(entry.feedback_to, {}).empty()) context.outcomes[*context.current].next = runs;
  if (count > 0) {
    entry.count = count;
    entry.trigger_time = first;
  }
  if (entry.count > 0) context.rows.add_log(context.rows.keep(std::move(entry)));
  return {};
}

// Runs that are about to be voided do not count. Returns their number.
Result<std::int64_t> uncount_voided(WriteContext& context, const ChangeDefinition& change,
                                    std::string_view group_table) {
  std::int64_t count = 0;
  for (const std::string_view table : {group_table, kDelayedTable}) {
    CARILLON_TRY(context.db.query(joined({kSelectCount, table, kUntriedOfGrid}),
                                  SqlValues{value_of(change.id)},
                                  [&](const sql::Row& row) { count += row.integer(0); }));
  }
  if (count == 0) return count;
  CARILLON_TRY(context.db.execute(joined({"UPDATE ", definition_table(change.to->kind),
                                          " SET fired = fired - ? WHERE definition_id = ?"}),
                                  SqlValues{Value::of(count), value_of(change.id)}));
  return count;
}

Status void_waiting(WriteContext& context, const ChangeDefinition& change) {
  const std::string_view group_table = CARILLON_TRY(context.table_of(change.group));
  if (change.voided) CARILLON_TRY(log_voided(context, change, group_table));
  if (change.to && change.uncounts_voided) {
    context.outcomes[*context.current].count =
        CARILLON_TRY(uncount_voided(context, change, group_table));
  }
  for (const std::string_view table : {group_table, kDelayedTable}) {
    CARILLON_TRY(context.db.execute(joined({"DELETE FROM ", table, " WHERE definition_id = ?",
                                            change.spares_triggered ? kAndOfGrid : ""}),
                                    SqlValues{value_of(change.id)}));
  }
  return {};
}

// Requires: `indices` name no definition twice.
Status write_some(WriteContext& context, const OperationIndices& indices) {
  std::map<std::pair<std::string_view, std::size_t>, OperationIndices> updates;
  for (const std::size_t index : indices) {
    const auto& change = context.operation<ChangeDefinition>(index);
    if (!change.to) {
      context.current = index;
      if (!CARILLON_TRY(remove_definition(context, change))) context.conflict(index);
    } else {
      updates[{definition_table(change.to->kind), key_columns(change).size()}].push_back(index);
    }
  }
  for (const auto& [table, some] : updates) {
    CARILLON_TRY(update_definitions(context, table.first, some));
  }
  for (const std::size_t index : indices) {
    if (context.outcomes[index].kind != OutcomeKind::kDone) continue;
    const auto& change = context.operation<ChangeDefinition>(index);
    context.current = index;
    if (change.to && change.spec_changed) CARILLON_TRY(update_spec(context, change));
    if (change.void_waiting) CARILLON_TRY(void_waiting(context, change));
    for (const WaitingJob& job : change.add) CARILLON_TRY(context.add_waiting(job));
    for (const LogEntry& entry : change.logs) context.rows.add_log(entry);
  }
  return context.flush(indices);
}

}  // namespace

Status write_definition_changes(WriteContext& context, const OperationIndices& indices) {
  const auto id_of = [&](std::size_t index) {
    return context.operation<ChangeDefinition>(index).id;
  };
  return in_runs(indices, id_of,
                 [&](const OperationIndices& run) { return write_some(context, run); });
}

}  // namespace carillon::jobtracker
