#include <algorithm>
#include <functional>
#include <unordered_map>

#include "jobtracker/store/request_slots.h"
#include "jobtracker/store/sql/batch_writer.h"

// Adds definitions and jobs, and records the holders of their task ids.
namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kSelectHolders = "SELECT task_id, job_id, definition_id FROM ";
constexpr std::string_view kRaiseDefinitionHigh =
    "UPDATE lts_definition_high SET definition_id = ? WHERE definition_id < ?";
constexpr std::string_view kAmong = " WHERE group_id = ? AND task_id IN ";

struct TaskKey {
  GroupId group{};
  std::string_view task_id{};

  bool operator==(const TaskKey&) const = default;
};

struct HashTaskKey {
  std::size_t operator()(const TaskKey& key) const {
    return std::hash<std::string_view>{}(key.task_id) ^ (std::hash<GroupId>{}(key.group) << 1);
  }
};

struct Holder {
  JobId job{};
  DefinitionId definition{};
};

// Holders of the task ids of a batch, in the store or earlier in the batch.
class Holders {
 public:
  void want(GroupId group, std::string_view task_id) { by_group_[group].push_back(task_id); }

  Status look_up(sql::Connection& db) {
    SqlValues values;
    for (const auto& [group, task_ids] : by_group_) {
      values.clear();
      for (const std::string_view id : task_ids) {
        holders_.try_emplace({group, id});
        values.push_back(key_of_task(db.dialect(), id));
      }
      for (const std::string_view table : {kTaskIdTable, kDelayedTaskIdTable}) {
        CARILLON_TRY(in_lists(values, [&](std::string_view list, std::span<const Value> chunk) {
          return select(db, table, group, list, chunk);
        }));
      }
    }
    return {};
  }

  // Null: the task id was free; `holder` has it now.
  const Holder* hold(GroupId group, std::string_view task_id, const Holder& holder) {
    Holder& held = holders_[{group, task_id}];
    if (held.job || held.definition) return &held;
    held = holder;
    return nullptr;
  }

 private:
  Status select(sql::Connection& db, std::string_view table, GroupId group, std::string_view list,
                std::span<const Value> chunk) {
    SqlValues values{value_of(group)};
    values.insert(values.end(), chunk.begin(), chunk.end());
    return db.query(
        joined({kSelectHolders, table, kAmong, list}), values, [&](const sql::Row& row) {
          const auto found = holders_.find({group, row.bytes(0)});
          if (found == holders_.end()) return;
          found->second = {.job = JobId{row.integer(1)},
                           .definition = DefinitionId{static_cast<std::int32_t>(row.integer(2))}};
        });
  }

  std::unordered_map<GroupId, std::vector<std::string_view>> by_group_{};
  std::unordered_map<TaskKey, Holder, HashTaskKey> holders_{};  // views of the batch's texts
};

Outcome taken(const Holder& by) {
  return {
      .kind = OutcomeKind::kTaken, .existing_job = by.job, .existing_definition = by.definition};
}

template <class JobOf, class AddRow>
Status add_one_shots(WriteContext& context, const OperationIndices& indices, const JobOf& job_of,
                     const AddRow& add_row) {
  Holders holders;
  for (const std::size_t index : indices) {
    const WaitingJob& job = job_of(index);
    context.current = index;
    CARILLON_TRY(context.table_of(job.group));
    if (holds_key(job)) holders.want(job.group, job.task_id);
  }
  context.about(indices);
  CARILLON_TRY(holders.look_up(context.db));
  for (const std::size_t index : indices) {
    const WaitingJob& job = job_of(index);
    if (holds_key(job)) {
      if (const Holder* holder = holders.hold(job.group, job.task_id, {.job = job.id})) {
        context.outcomes[index] = taken(*holder);
        continue;
      }
      context.rows.add_key(context.db.dialect(), job);
    }
    add_row(index);
  }
  return context.flush(indices);
}

}  // namespace

Status write_new_definitions(WriteContext& context, const OperationIndices& indices) {
  Holders holders;
  for (const std::size_t index : indices) {
    const Definition& definition = context.operation<AddDefinition>(index).definition;
    context.current = index;
    CARILLON_TRY(context.table_of(definition.group));
    holders.want(definition.group, definition.task_id);
  }
  context.about(indices);
  CARILLON_TRY(holders.look_up(context.db));
  DefinitionId high{};
  for (const std::size_t index : indices) {
    const auto& [definition, first] = context.operation<AddDefinition>(index);
    if (const Holder* holder =
            holders.hold(definition.group, definition.task_id, {.definition = definition.id})) {
      context.outcomes[index] = taken(*holder);
      continue;
    }
    context.current = index;
    context.rows.add_key(context.db.dialect(), definition);
    context.rows.add_definition(definition, context.describe);
    if (first) CARILLON_TRY(context.add_waiting(*first));
    high = std::max(high, definition.id);
  }
  context.about(indices);
  if (high) {
    CARILLON_TRY(
        context.db.execute(kRaiseDefinitionHigh, SqlValues{value_of(high), value_of(high)}));
  }
  return context.flush(indices);
}

Status write_new_jobs(WriteContext& context, const OperationIndices& indices) {
  return add_one_shots(
      context, indices,
      [&](std::size_t index) -> const WaitingJob& { return context.operation<AddJob>(index).job; },
      [&](std::size_t index) { context.rows.add_waiting(context.operation<AddJob>(index).job); });
}

Status write_new_executing(WriteContext& context, const OperationIndices& indices) {
  return add_one_shots(
      context, indices,
      [&](std::size_t index) -> const WaitingJob& {
        return context.operation<AddExecuting>(index).to.job;
      },
      [&](std::size_t index) {
        context.rows.add_executing(context.operation<AddExecuting>(index).to);
      });
}

}  // namespace carillon::jobtracker
