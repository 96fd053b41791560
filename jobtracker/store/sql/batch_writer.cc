#include "jobtracker/store/sql/batch_writer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jobtracker/store/sql/audit.h"
#include "jobtracker/store/sql/request_ledger.h"

namespace carillon::jobtracker {
namespace {

constexpr std::size_t kListMax = 256;

using Write = Status (*)(WriteContext&, const OperationIndices&);

// In the order of the alternatives of Operation, in which they take effect.
constexpr std::array<Write, std::variant_size_v<Operation>> kWrites = {
    write_waiting_changes,
    write_ends,
    write_definition_changes,
    write_claims,
    write_new_definitions,
    write_new_executing,
    write_new_jobs,
    write_cancels,
    write_output,
    write_nodes,
    write_feedback_removals,
    write_inbox_removals,
    write_alarm_removals,
    write_executor_group_removals,
    write_executor_result_removals,
    write_executor_groups,
    write_executor_changes,
    write_push_runs,
    write_push_run_removals,
    write_routes,
    write_executor_results,
    write_scripts,
    write_log,
    write_purges,
    write_cleanings,
    write_log_index,
    write_audit,
    write_principals,
    write_principal_removals,
    write_figures,
    write_alarm_history,
    write_silences};

}  // namespace

Result<std::string_view> WriteContext::table_of(GroupId group) {
  auto table = groups.table_of(db, group);
  if (!table.ok() && table.error().code == ErrorCode::kNotFound) {
    return Error{ErrorCode::kInvalidArgument, table.error().message + " (create it first)"};
  }
  return table;
}

Status WriteContext::add_waiting(const WaitingJob& job) {
  CARILLON_TRY(table_of(job.group));
  rows.add_waiting(job);
  return {};
}

Status in_lists(
    std::span<const sql::Value> values,
    const std::function<Status(std::string_view list, std::span<const sql::Value> chunk)>& each) {
  SqlValues padded;
  while (!values.empty()) {
    const std::size_t count = std::min(values.size(), kListMax);
    std::size_t size = 1;
    while (size < count) size *= 2;
    padded.assign(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
    padded.resize(size, padded.back());
    std::string list = "(?";
    for (std::size_t i = 1; i < size; ++i) list += ", ?";
    list += ')';
    CARILLON_TRY(each(list, padded));
    values = values.subspan(count);
  }
  return {};
}

Result<Committed> write_batch(sql::Connection& db, GroupCatalog& groups,
                              WaitingGroups& waiting_groups, RowBuffer& rows,
                              const DescribeSpec& describe, const Batch& batch,
                              std::optional<std::size_t>& culprit) {
  Committed committed;
  committed.outcomes.resize(batch.operations.size());
  rows.clear();
  UsedSlots used_slots = CARILLON_TRY(look_up_requests(db, batch, committed));

  std::array<OperationIndices, std::variant_size_v<Operation>> by_kind;
  OperationIndices all;
  for (std::size_t i = 0; i < batch.operations.size(); ++i) {
    if (committed.outcomes[i].kind == OutcomeKind::kAnswered) continue;
    by_kind[batch.operations[i].index()].push_back(i);
    all.push_back(i);
  }
  WriteContext context{.db = db,
                       .groups = groups,
                       .waiting_groups = waiting_groups,
                       .rows = rows,
                       .describe = describe,
                       .batch = batch,
                       .outcomes = committed.outcomes};
  const auto write_all = [&]() -> Status {
    for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
      if (by_kind[kind].empty()) continue;
      context.about(by_kind[kind]);
      CARILLON_TRY(kWrites[kind](context, by_kind[kind]));
    }
    context.about(all);
    return rows.flush_log(db);
  };
  if (auto status = write_all(); !status.ok()) {
    culprit = context.current;
    return std::move(status).error();
  }
  CARILLON_TRY(store_requests(db, batch, committed, std::move(used_slots)));
  CARILLON_TRY(store_audit(db, batch, committed));
  return committed;
}

}  // namespace carillon::jobtracker
