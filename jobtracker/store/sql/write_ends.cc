#include "jobtracker/store/request_slots.h"
#include "jobtracker/store/sql/batch_writer.h"

// Ends of attempts, and cancellations of running ones.
namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kInsertInbox =
    "INSERT INTO lts_inbox (inbox_id, group_id, task_id) VALUES (?, ?, ?)";
constexpr std::string_view kCancel =
    "UPDATE lts_executing_job_queue SET cancelled = 1 WHERE job_id = ? AND attempt = ?";

}  // namespace

Status write_ends(WriteContext& context, const OperationIndices& indices) {
  const auto id_of = [&](std::size_t index) { return context.operation<End>(index).id; };
  return in_runs(indices, id_of, [&](const OperationIndices& run) -> Status {
    SqlValues keys;
    for (const std::size_t index : run) {
      const End& end = context.operation<End>(index);
      keys.push_back(value_of(end.id));
      keys.push_back(Value::of(end.attempt));
    }
    context.about(run);
    const auto found = CARILLON_TRY(context.db.delete_rows(kExecutingTable, kAttemptColumns, keys));
    for (std::size_t i = 0; i < run.size(); ++i) {
      const End& end = context.operation<End>(run[i]);
      if (!found[i]) {
        context.conflict(run[i]);
        continue;
      }
      context.current = run[i];
      if (end.frees_key) {
        context.rows.free_key(context.db.dialect(), end.group, end.task_id, end.id, false);
      }
      if (end.again) {
        CARILLON_TRY(context.add_waiting(*end.again));
        if (end.again->delayed && holds_key(*end.again)) {
          context.rows.free_key(context.db.dialect(), end.group, end.task_id, end.id, false);
          context.rows.add_key(context.db.dialect(), *end.again);
        }
      }
      for (const WaitingJob& child : end.children) CARILLON_TRY(context.add_waiting(child));
      for (const InboxRow& row : end.relayed) {
        CARILLON_TRY(context.db.execute(
            kInsertInbox,
            SqlValues{Value::of(row.id), value_of(row.group), Value::of_text(row.task_id)}));
      }
      if (end.log) context.rows.add_log(*end.log);
    }
    return context.flush(run);
  });
}

Status write_cancels(WriteContext& context, const OperationIndices& indices) {
  for (const std::size_t index : indices) {
    const auto& cancel = context.operation<CancelExecuting>(index);
    context.current = index;
    const auto rows = CARILLON_TRY(
        context.db.execute(kCancel, SqlValues{value_of(cancel.id), Value::of(cancel.attempt)}));
    if (rows == 0) context.conflict(index);
  }
  return {};
}

}  // namespace carillon::jobtracker
