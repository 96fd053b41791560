#include <algorithm>
#include <limits>
#include <set>

#include "jobtracker/store/sql/alarms.h"
#include "jobtracker/store/sql/audit.h"
#include "jobtracker/store/sql/batch_writer.h"
#include "jobtracker/store/sql/figures.h"
#include "jobtracker/store/sql/log_index.h"

// Output, nodes, feedback and alarms, and the deletion of old rows.
namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kOutput = "lts_job_output (";
constexpr std::string_view kReplaceNodes = "REPLACE INTO lts_node (";
constexpr std::string_view kMoveInbox = "UPDATE lts_inbox SET group_id = ? WHERE inbox_id = ?";
constexpr std::string_view kDeleteInbox = "DELETE FROM lts_inbox WHERE inbox_id = ?";
constexpr std::string_view kDeleteAlarm = "DELETE FROM lts_alarm WHERE alarm_id = ?";
constexpr std::string_view kDeleteCounts = "DELETE FROM lts_log_count WHERE slot_us < ?";
constexpr std::string_view kValues = ") VALUES";
constexpr std::string_view kSelectOldest =
    "SELECT log_id, job_id, attempt, ended_us FROM lts_job_log ORDER BY log_id LIMIT ?";
constexpr std::string_view kDeleteLog = "DELETE FROM lts_job_log WHERE log_id <= ?";
constexpr std::string_view kSelectOldAnswers =
    "SELECT slot, at_us FROM lts_client WHERE at_us < ? ORDER BY at_us, slot LIMIT ?";
constexpr std::string_view kSelectOldNodes =
    "SELECT session_id FROM lts_node WHERE alive = 0 AND last_seen_us < ? "
    "ORDER BY session_id LIMIT ?";
constexpr std::string_view kDeleteOldFeedback =
    "DELETE FROM lts_feedback_queue WHERE client_group = ? AND feedback_id < ?";
// A log row has at most two index entries. More are deleted at a time, so that the index shrinks
// with the log.
constexpr std::int64_t kEntriesOfRow = 4;
constexpr std::string_view kFeedbackColumnsOfKey[] = {"client_group", "feedback_id"};
// With its time: a new row may have replaced an old one.
constexpr std::string_view kAnswerColumns[] = {"slot", "at_us"};
constexpr std::string_view kSessionColumn[] = {"session_id"};

// Deletes the oldest log rows that are older than this, and their attempts' output.
Result<std::int64_t> purge_log(sql::Connection& db, WallTime before, std::int64_t limit) {
  std::int64_t rows = 0;
  std::int64_t last_id = 0;
  bool reached = false;
  std::int64_t oldest_left = std::numeric_limits<std::int64_t>::max();
  std::set<std::pair<std::int64_t, std::int64_t>> attempts;
  CARILLON_TRY(db.query(kSelectOldest, SqlValues{Value::of(limit)}, [&](const sql::Row& row) {
    if (!reached && wall_time(row.integer(3)) >= before) oldest_left = row.integer(0);
    reached = reached || wall_time(row.integer(3)) >= before;
    if (reached) return;
    ++rows;
    last_id = row.integer(0);
    if (row.integer(2) > 0) attempts.insert({row.integer(1), row.integer(2)});
  }));
  if (!reached && rows > 0) oldest_left = last_id + 1;
  CARILLON_TRY(drop_log_slices(db, oldest_left, kEntriesOfRow * limit));
  if (rows == 0) return 0;
  CARILLON_TRY(db.execute(kDeleteLog, SqlValues{Value::of(last_id)}));
  SqlValues keys;
  for (const auto& [job, attempt] : attempts) {
    keys.push_back(Value::of(job));
    keys.push_back(Value::of(attempt));
  }
  CARILLON_TRY(db.delete_rows("lts_job_output", kAttemptColumns, keys));
  return rows;
}

Result<std::int64_t> purge_selected(sql::Connection& db, std::string_view select, WallTime before,
                                    std::int64_t limit, std::string_view table,
                                    std::span<const std::string_view> key_columns) {
  SqlValues keys;
  CARILLON_TRY(
      db.query(select, SqlValues{value_of(before), Value::of(limit)}, [&](const sql::Row& row) {
        for (std::size_t i = 0; i < key_columns.size(); ++i)
          keys.push_back(Value::of(row.integer(static_cast<int>(i))));
      }));
  CARILLON_TRY(db.delete_rows(table, key_columns, keys));
  return static_cast<std::int64_t>(keys.size() / key_columns.size());
}

}  // namespace

Status write_output(WriteContext& context, const OperationIndices& indices) {
  SqlValues values;
  for (const std::size_t index : indices) {
    append_output(values, context.operation<AddOutput>(index).row);
  }
  return context.db.insert_rows(joined({insert_new(context.db), kOutput, kOutputColumns, kValues}),
                                kOutputWidth, values);
}

Status write_nodes(WriteContext& context, const OperationIndices& indices) {
  SqlValues values;
  std::set<GroupId> groups;
  for (const std::size_t index : indices) {
    const NodeRow& node = context.operation<PutNode>(index).node;
    append_node(values, node);
    groups.insert(node.group);
  }
  CARILLON_TRY(
      context.db.insert_rows(joined({kReplaceNodes, kNodeColumns, kValues}), kNodeWidth, values));
  for (const GroupId group : groups) {
    CARILLON_TRY(context.db.execute(kServe, SqlValues{value_of(group)}));
  }
  return {};
}

Status write_feedback_removals(WriteContext& context, const OperationIndices& indices) {
  // Includes rows that this batch has added.
  CARILLON_TRY(context.flush_feedback());
  for (const std::size_t index : indices) {
    const auto& remove = context.operation<RemoveFeedback>(index);
    context.current = index;
    auto& count = context.outcomes[index].count;
    SqlValues keys;
    for (const std::int64_t id : std::set(remove.ids.begin(), remove.ids.end())) {
      keys.push_back(Value::of_text(remove.client_group));
      keys.push_back(Value::of(id));
    }
    if (!keys.empty()) {
      const auto found =
          CARILLON_TRY(context.db.delete_rows(kFeedbackTable, kFeedbackColumnsOfKey, keys));
      count += std::count(found.begin(), found.end(), true);
    }
    if (remove.before > 0) {
      count += CARILLON_TRY(context.db.execute(
          kDeleteOldFeedback,
          SqlValues{Value::of_text(remove.client_group), Value::of(remove.before)}));
    }
  }
  return {};
}

Status write_inbox_removals(WriteContext& context, const OperationIndices& indices) {
  for (const std::size_t index : indices) {
    context.current = index;
    const auto& remove = context.operation<RemoveInbox>(index);
    if (remove.to) {
      CARILLON_TRY(
          context.db.execute(kMoveInbox, SqlValues{value_of(remove.to), Value::of(remove.id)}));
    } else {
      CARILLON_TRY(context.db.execute(kDeleteInbox, SqlValues{Value::of(remove.id)}));
    }
  }
  return {};
}

Status write_alarm_removals(WriteContext& context, const OperationIndices& indices) {
  // Includes rows that this batch has added.
  CARILLON_TRY(context.flush_log());
  for (const std::size_t index : indices) {
    context.current = index;
    CARILLON_TRY(context.db.execute(
        kDeleteAlarm, SqlValues{Value::of(context.operation<RemoveAlarm>(index).alarm)}));
  }
  return {};
}

Status write_purges(WriteContext& context, const OperationIndices& indices) {
  // A purge includes the log rows of its own batch.
  CARILLON_TRY(context.flush_log());
  for (const std::size_t index : indices) {
    const auto& purge = context.operation<Purge>(index);
    context.current = index;
    auto& count = context.outcomes[index].count;
    count += CARILLON_TRY(purge_log(context.db, purge.log_before, purge.limit));
    count += CARILLON_TRY(purge_selected(context.db, kSelectOldAnswers, purge.clients_before,
                                         purge.limit, "lts_client", kAnswerColumns));
    count += CARILLON_TRY(purge_selected(context.db, kSelectOldNodes, purge.log_before, purge.limit,
                                         "lts_node", kSessionColumn));
    CARILLON_TRY(context.db.execute(kDeleteCounts, SqlValues{value_of(purge.counts_before)}));
    count += CARILLON_TRY(purge_audit(context.db, purge.audit_before, purge.limit));
    count += CARILLON_TRY(purge_figures(context.db, purge.figures_before, purge.limit));
    count += CARILLON_TRY(purge_alarms(context.db, purge, context.batch.now));
  }
  return {};
}

}  // namespace carillon::jobtracker
