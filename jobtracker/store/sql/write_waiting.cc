#include <algorithm>
#include <array>
#include <span>
#include <tuple>

#include "jobtracker/store/request_slots.h"
#include "jobtracker/store/sql/batch_writer.h"

// Moves of waiting jobs: changes and claims.
namespace carillon::jobtracker {
namespace {

using sql::Value;

// The last is a column of the delayed table only.
constexpr std::array<std::string_view, 3> kStateColumns{"job_id", "attempt", "suspended"};

// A waiting row to be removed from its table.
struct WaitingRow {
  std::size_t operation = 0;
  bool delayed = false;
  GroupId group{};
  JobId id{};
  std::int32_t attempt = 0;
  bool suspended = false;
};

// Deletes the rows, one call per table, and marks the operations whose row does not exist.
Status take_rows(WriteContext& context, std::vector<WaitingRow>& rows) {
  const auto table_key = [](const WaitingRow& row) {
    return std::tuple{row.delayed, row.delayed ? GroupId{} : row.group};
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const WaitingRow& a, const WaitingRow& b) {
    return table_key(a) < table_key(b);
  });
  SqlValues keys;
  for (auto first = rows.begin(); first != rows.end();) {
    const auto last = std::find_if(first, rows.end(), [&](const WaitingRow& row) {
      return table_key(row) != table_key(*first);
    });
    keys.clear();
    for (auto row = first; row != last; ++row) {
      keys.push_back(value_of(row->id));
      keys.push_back(Value::of(row->attempt));
      if (row->delayed) keys.push_back(value_of(row->suspended));
    }
    const std::string_view table =
        first->delayed ? kDelayedTable : CARILLON_TRY(context.table_of(first->group));
    const auto columns = std::span{kStateColumns}.first(first->delayed ? 3 : 2);
    const auto found = CARILLON_TRY(context.db.delete_rows(table, columns, keys));
    for (std::size_t i = 0; first != last; ++first, ++i) {
      if (!found[i]) context.conflict(first->operation);
    }
  }
  return {};
}

bool is_done(const WriteContext& context, std::size_t index) {
  return context.outcomes[index].kind == OutcomeKind::kDone;
}

}  // namespace

Status write_waiting_changes(WriteContext& context, const OperationIndices& indices) {
  const auto id_of = [&](std::size_t index) {
    return context.operation<ChangeWaiting>(index).from.id;
  };
  return in_runs(indices, id_of, [&](const OperationIndices& run) -> Status {
    std::vector<WaitingRow> rows;
    for (const std::size_t index : run) {
      const auto& change = context.operation<ChangeWaiting>(index);
      context.current = index;
      CARILLON_TRY(context.table_of(change.from.group));
      rows.push_back({index, change.from.delayed, change.from.group, change.from.id,
                      change.from.attempt, change.from.suspended});
    }
    context.about(run);
    CARILLON_TRY(take_rows(context, rows));
    for (const std::size_t index : run) {
      if (!is_done(context, index)) continue;
      const auto& change = context.operation<ChangeWaiting>(index);
      context.current = index;
      if (!change.to) {
        if (holds_key(change.from)) context.rows.free_key(context.db.dialect(), change.from);
      } else {
        CARILLON_TRY(context.add_waiting(*change.to));
        if (holds_key(change.from) && change.to->delayed != change.from.delayed) {
          context.rows.free_key(context.db.dialect(), change.from);
          context.rows.add_key(context.db.dialect(), *change.to);
        }
      }
      if (change.log) context.rows.add_log(*change.log);
    }
    return context.flush(run);
  });
}

Status write_claims(WriteContext& context, const OperationIndices& indices) {
  const auto id_of = [&](std::size_t index) { return context.operation<Claim>(index).to.job.id; };
  return in_runs(indices, id_of, [&](const OperationIndices& run) -> Status {
    std::vector<WaitingRow> rows;
    for (const std::size_t index : run) {
      const WaitingJob& job = context.operation<Claim>(index).to.job;
      context.current = index;
      CARILLON_TRY(context.table_of(job.group));
      rows.push_back({index, false, job.group, job.id, job.attempt - 1});
    }
    context.about(run);
    CARILLON_TRY(take_rows(context, rows));
    for (const std::size_t index : run) {
      if (is_done(context, index)) {
        context.rows.add_executing(context.operation<Claim>(index).to);
      }
    }
    return context.flush(run);
  });
}

}  // namespace carillon::jobtracker
