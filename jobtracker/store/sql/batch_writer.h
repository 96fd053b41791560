#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "jobtracker/store/batch.h"
#include "jobtracker/store/sql/group_catalog.h"
#include "jobtracker/store/sql/row_buffer.h"
#include "shared/sql/sql_connection.h"

// Writes a batch's operations between the fence and the COMMIT, kind by kind, each kind with as few
// statements as possible. One file per family of kinds: write_waiting.cc, write_ends.cc,
// write_definitions.cc, write_additions.cc, write_records.cc, write_push.cc.
namespace carillon::jobtracker {

inline constexpr std::string_view kAttemptColumns[] = {"job_id", "attempt"};
// Marks the group as served by task trackers or executors.
inline constexpr std::string_view kServe =
    "UPDATE lts_node_group SET served = 1 WHERE group_id = ? AND served = 0";

// The operations of one kind in a batch that are to be written, in order.
using OperationIndices = std::vector<std::size_t>;

// Shared by all families.
struct WriteContext {
  sql::Connection& db;
  GroupCatalog& groups;
  WaitingGroups& waiting_groups;
  RowBuffer& rows;
  const DescribeSpec& describe;
  const Batch& batch;
  std::vector<Outcome>& outcomes;
  // The operation that the current statement is for, if there is one.
  std::optional<std::size_t> current{};

  template <class Kind>
  const Kind& operation(std::size_t index) const {
    return std::get<Kind>(batch.operations[index]);
  }
  void conflict(std::size_t index) { outcomes[index].kind = OutcomeKind::kConflict; }
  // The next statements are for all of `indices`.
  void about(const OperationIndices& indices) {
    current = indices.size() == 1 ? std::optional{indices.front()} : std::nullopt;
  }
  // Error: kInvalidArgument if the group does not exist.
  Result<std::string_view> table_of(GroupId group);
  Status add_waiting(const WaitingJob& job);
  Status flush(const OperationIndices& indices) {
    about(indices);
    return rows.flush(db, groups, waiting_groups);
  }
  // Writes the rows that operations of other kinds have buffered.
  Status flush_log() {
    current.reset();
    return rows.flush_log(db);
  }
  Status flush_feedback() {
    current.reset();
    return rows.flush_feedback(db);
  }
};

// Start of a statement that inserts only rows with new keys.
inline std::string_view insert_new(const sql::Connection& db) {
  return db.dialect() == sql::Dialect::kMysql ? "INSERT IGNORE INTO " : "INSERT OR IGNORE INTO ";
}

Status write_waiting_changes(WriteContext& context, const OperationIndices& indices);
Status write_claims(WriteContext& context, const OperationIndices& indices);
Status write_ends(WriteContext& context, const OperationIndices& indices);
Status write_cancels(WriteContext& context, const OperationIndices& indices);
Status write_definition_changes(WriteContext& context, const OperationIndices& indices);
Status write_new_definitions(WriteContext& context, const OperationIndices& indices);
Status write_new_jobs(WriteContext& context, const OperationIndices& indices);
Status write_new_executing(WriteContext& context, const OperationIndices& indices);
Status write_output(WriteContext& context, const OperationIndices& indices);
Status write_nodes(WriteContext& context, const OperationIndices& indices);
Status write_feedback_removals(WriteContext& context, const OperationIndices& indices);
Status write_alarm_removals(WriteContext& context, const OperationIndices& indices);
Status write_inbox_removals(WriteContext& context, const OperationIndices& indices);
Status write_push_run_removals(WriteContext& context, const OperationIndices& indices);
Status write_executor_result_removals(WriteContext& context, const OperationIndices& indices);
Status write_executor_groups(WriteContext& context, const OperationIndices& indices);
Status write_executor_changes(WriteContext& context, const OperationIndices& indices);
Status write_push_runs(WriteContext& context, const OperationIndices& indices);
Status write_routes(WriteContext& context, const OperationIndices& indices);
Status write_executor_results(WriteContext& context, const OperationIndices& indices);
Status write_executor_group_removals(WriteContext& context, const OperationIndices& indices);
Status write_scripts(WriteContext& context, const OperationIndices& indices);
Status write_log(WriteContext& context, const OperationIndices& indices);
Status write_purges(WriteContext& context, const OperationIndices& indices);
Status write_cleanings(WriteContext& context, const OperationIndices& indices);
Status write_log_index(WriteContext& context, const OperationIndices& indices);
Status write_audit(WriteContext& context, const OperationIndices& indices);
Status write_principals(WriteContext& context, const OperationIndices& indices);
Status write_principal_removals(WriteContext& context, const OperationIndices& indices);
Status write_figures(WriteContext& context, const OperationIndices& indices);
Status write_alarm_history(WriteContext& context, const OperationIndices& indices);
Status write_silences(WriteContext& context, const OperationIndices& indices);

// Calls `write` with subsequences of `indices` without duplicate ids, so that each can be written
// as a set; usually there is one.
template <class IdOf, class Write>
Status in_runs(const OperationIndices& indices, const IdOf& id_of, const Write& write) {
  std::unordered_set<decltype(id_of(std::size_t{}))> seen;
  OperationIndices run;
  for (const std::size_t index : indices) {
    if (!seen.insert(id_of(index)).second) {
      CARILLON_TRY(write(run));
      run.clear();
      seen = {id_of(index)};
    }
    run.push_back(index);
  }
  if (run.empty()) return {};
  return write(run);
}

// Builds "(?, ?, ...)" for values in chunks of a power of two, padded with the last value, so that
// few statements are prepared. Calls `each(list, chunk)`.
Status in_lists(
    std::span<const sql::Value> values,
    const std::function<Status(std::string_view list, std::span<const sql::Value> chunk)>& each);

// A whole batch. `culprit` names the operation that an error is about, if that is known.
// Requires: a transaction, and that the session was proved.
Result<Committed> write_batch(sql::Connection& db, GroupCatalog& groups,
                              WaitingGroups& waiting_groups, RowBuffer& rows,
                              const DescribeSpec& describe, const Batch& batch,
                              std::optional<std::size_t>& culprit);

}  // namespace carillon::jobtracker
