#include <map>
#include <set>

#include "jobtracker/store/names.h"
#include "jobtracker/store/sql/batch_writer.h"

// The push tables.
namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kReplace = "REPLACE INTO ";
constexpr std::string_view kUnserve = "UPDATE lts_node_group SET served = 0 WHERE group_id = ?";
constexpr std::string_view kSetRegistered =
    "UPDATE lts_executor SET registered_us = ? WHERE group_id = ? AND address = ?";
constexpr std::string_view kSetFacts =
    "UPDATE lts_executor SET has_trigger = ?, honest = ? WHERE group_id = ? AND address = ?";
constexpr std::string_view kSelectListed =
    "SELECT 1 FROM lts_executor WHERE group_id = ? AND manual = 1 LIMIT 1";
constexpr std::string_view kRemove = "DELETE FROM lts_executor WHERE group_id = ? AND address = ?";
constexpr std::string_view kRemoveLeft =
    "DELETE FROM lts_executor WHERE group_id = ? AND address = ? AND manual = 0 "
    "AND registered_us <= ?";
constexpr std::string_view kLogIdKey[] = {"log_id"};
constexpr std::string_view kResultKey[] = {"result_id"};
constexpr std::string_view kDefinitionKey[] = {"definition_id"};

// The stored form of the message; it is kept until the batch is written.
Value message_of(WriteContext& context, const std::string& message) {
  std::string storage;
  const std::string_view kept = storable_message(message, storage);
  if (kept.data() == message.data()) return Value::of_text(kept);
  return Value::of_text(context.rows.keep(std::string{kept}));
}

Status replace_rows(WriteContext& context, std::string_view table, std::string_view columns,
                    int width, const SqlValues& values) {
  if (values.empty()) return {};
  return context.db.insert_rows(joined({kReplace, table, " (", columns, ") VALUES"}), width,
                                values);
}

// Deletes the rows with these integer keys; each once.
Status delete_rows(WriteContext& context, std::string_view table,
                   std::span<const std::string_view> key, const std::set<std::int64_t>& ids) {
  SqlValues values;
  for (const std::int64_t id : ids) values.push_back(Value::of(id));
  if (values.empty()) return {};
  CARILLON_TRY(context.db.delete_rows(table, key, values));
  return {};
}

Status write_executor(WriteContext& context, const ChangeExecutor& change) {
  const ExecutorRow& row = change.row;
  const Value group = value_of(row.group);
  const Value address = Value::of_text(row.address);
  if (change.word == ExecutorWord::kLeft) {
    CARILLON_TRY(
        context.db.execute(kRemoveLeft, SqlValues{group, address, value_of(row.registered_at)}));
    return {};
  }
  if (change.word == ExecutorWord::kRemoved) {
    CARILLON_TRY(context.db.execute(kRemove, SqlValues{group, address}));
    return {};
  }
  if (change.word == ExecutorWord::kFacts) {
    CARILLON_TRY(context.db.execute(
        kSetFacts,
        SqlValues{value_of(row.has_trigger), value_of(row.reports_busy_state), group, address}));
    return {};
  }
  if (change.word == ExecutorWord::kRegistered) {
    const auto found = CARILLON_TRY(
        context.db.execute(kSetRegistered, SqlValues{value_of(row.registered_at), group, address}));
    bool is_listed = false;
    if (found == 0)
      CARILLON_TRY(context.db.query(kSelectListed, SqlValues{group},
                                    [&](const sql::Row&) { is_listed = true; }));
    if (found > 0 || is_listed) return {};
  }
  const bool is_listed = change.word == ExecutorWord::kListed;
  const std::string_view way = is_listed ? kReplace : insert_new(context.db);
  return context.db.insert_rows(
      joined({way, kExecutorTable, " (", kExecutorColumns, ") VALUES"}), kExecutorWidth,
      SqlValues{group, address, value_of(is_listed && row.is_manual), value_of(row.has_trigger),
                value_of(row.registered_at), value_of(row.reports_busy_state),
                Value::of(std::int64_t{is_listed ? row.place : 0})});
}

}  // namespace

Status write_executor_group_removals(WriteContext& context, const OperationIndices& indices) {
  constexpr std::string_view kGroupKey[] = {"group_id"};
  std::set<std::int64_t> ids;
  for (const std::size_t index : indices) {
    ids.insert(context.operation<RemoveExecutorGroup>(index).group.value);
  }
  CARILLON_TRY(delete_rows(context, kExecutorTable, kGroupKey, ids));
  for (const std::int64_t id : ids) {
    CARILLON_TRY(context.db.execute(kUnserve, SqlValues{Value::of(id)}));
  }
  return delete_rows(context, kExecutorGroupTable, kGroupKey, ids);
}

Status write_push_run_removals(WriteContext& context, const OperationIndices& indices) {
  std::set<std::int64_t> ids;
  for (const std::size_t index : indices) {
    ids.insert(context.operation<RemovePushRun>(index).log_id);
  }
  return delete_rows(context, kPushRunTable, kLogIdKey, ids);
}

Status write_executor_result_removals(WriteContext& context, const OperationIndices& indices) {
  std::set<std::int64_t> ids;
  for (const std::size_t index : indices) {
    ids.insert(context.operation<RemoveExecutorResult>(index).id);
  }
  return delete_rows(context, kExecutorResultTable, kResultKey, ids);
}

Status write_executor_groups(WriteContext& context, const OperationIndices& indices) {
  for (const std::size_t index : indices) {
    const auto& put = context.operation<PutExecutorGroup>(index);
    const SqlValues values{value_of(put.row.group), Value::of_text(put.row.token)};
    CARILLON_TRY(context.db.insert_rows(
        joined({put.is_new ? insert_new(context.db) : kReplace, kExecutorGroupTable, " (",
                kExecutorGroupColumns, ") VALUES"}),
        kExecutorGroupWidth, values));
  }
  return {};
}

Status write_executor_changes(WriteContext& context, const OperationIndices& indices) {
  std::set<GroupId> served;
  for (const std::size_t index : indices) {
    const auto& change = context.operation<ChangeExecutor>(index);
    CARILLON_TRY(write_executor(context, change));
    if (change.serves()) served.insert(change.row.group);
  }
  for (const GroupId group : served) {
    CARILLON_TRY(context.db.execute(kServe, SqlValues{value_of(group)}));
  }
  return {};
}

Status write_push_runs(WriteContext& context, const OperationIndices& indices) {
  SqlValues values;
  for (const std::size_t index : indices) {
    const PushRun& row = context.operation<PutPushRun>(index).row;
    values.insert(values.end(),
                  {Value::of(row.log_id), value_of(row.group), value_of(row.job),
                   Value::of(row.attempt), Value::of(row.shard), Value::of(row.shards),
                   Value::of_text(row.address), Value::of(row.failures), value_of(row.called_at),
                   Value::of(row.code), message_of(context, row.message), value_of(row.is_taken)});
  }
  return replace_rows(context, kPushRunTable, kPushRunColumns, kPushRunWidth, values);
}

Status write_routes(WriteContext& context, const OperationIndices& indices) {
  std::map<DefinitionId, const RouteRow*> last;
  for (const std::size_t index : indices) {
    const RouteRow& row = context.operation<PutRoute>(index).row;
    last[row.definition] = &row;
  }
  SqlValues values;
  std::set<std::int64_t> forgotten;
  for (const auto& [definition, row] : last) {
    if (row->memory.empty()) {
      forgotten.insert(definition.value);
      continue;
    }
    values.insert(values.end(),
                  {value_of(definition), value_of(row->group), Value::of_text(row->memory)});
  }
  CARILLON_TRY(replace_rows(context, kRouteTable, kRouteColumns, kRouteWidth, values));
  return delete_rows(context, kRouteTable, kDefinitionKey, forgotten);
}

Status write_executor_results(WriteContext& context, const OperationIndices& indices) {
  SqlValues values;
  for (const std::size_t index : indices) {
    const ExecutorResult& row = context.operation<PutExecutorResult>(index).row;
    values.insert(values.end(), {Value::of(row.id), Value::of(row.log_id), Value::of(row.code),
                                 message_of(context, row.message)});
  }
  return replace_rows(context, kExecutorResultTable, kExecutorResultColumns, kExecutorResultWidth,
                      values);
}

Status write_log(WriteContext& context, const OperationIndices& indices) {
  for (const std::size_t index : indices) {
    context.rows.add_log(context.operation<AddLog>(index).entry);
  }
  return {};
}

}  // namespace carillon::jobtracker
