#include <set>
#include <string>

#include "jobtracker/store/names.h"
#include "jobtracker/store/sql/batch_writer.h"
#include "jobtracker/store/sql/log_index.h"

// Deletes log rows on request.
namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kSelectLog =
    "SELECT log_id, job_id, group_id, task_id, attempt FROM lts_job_log "
    "WHERE log_id > ? AND log_id < ? ORDER BY log_id LIMIT ?";
constexpr std::string_view kLogKey[] = {"log_id"};
constexpr std::string_view kAttemptKey[] = {"job_id", "attempt"};

struct LogKey {
  std::int64_t id = 0;
  std::int64_t job = 0;
  std::int64_t attempt = 0;
  std::string task_id{};
};

// Adds the jobs that are in the table to `live`.
Status find_live(sql::Connection& db, std::string_view table, std::span<const Value> jobs,
                 std::set<std::int64_t>& live) {
  return in_lists(jobs, [&](std::string_view list, std::span<const Value> chunk) {
    return db.query(joined({"SELECT job_id FROM ", table, " WHERE job_id IN ", list}), chunk,
                    [&](const sql::Row& row) { live.insert(row.integer(0)); });
  });
}

// Adds waiting jobs whose log rows are of these groups: after a split, its partitions have some.
Status find_waiting(WriteContext& context, const std::set<GroupId>& groups,
                    std::span<const Value> jobs, std::set<std::int64_t>& live) {
  const auto all = CARILLON_TRY(context.groups.read_all(context.db));
  std::set<std::string> names;
  for (const Group& group : all) {
    if (groups.contains(group.id)) names.insert(group.name);
  }
  for (const Group& group : all) {
    const auto part = part_named(group.name);
    if (!names.contains(group.name) && !(part && names.contains(part->whole))) continue;
    CARILLON_TRY(find_live(context.db, group.table, jobs, live));
  }
  return {};
}

Status clean(WriteContext& context, const CleanLog& clean, Outcome& outcome) {
  std::vector<LogKey> keys;
  std::set<std::int64_t> jobs;
  std::set<GroupId> groups;
  std::int64_t rows = 0;
  std::int64_t last = 0;
  CARILLON_TRY(context.db.query(
      kSelectLog,
      SqlValues{Value::of(clean.after), Value::of(clean.before), Value::of(clean.limit)},
      [&](const sql::Row& row) {
        ++rows;
        last = row.integer(0);
        const GroupId group{static_cast<std::int32_t>(row.integer(2))};
        if (!is_of(clean.groups, group)) return;
        if (!clean.task_id.empty() && row.bytes(3) != clean.task_id) return;
        keys.push_back({.id = last,
                        .job = row.integer(1),
                        .attempt = row.integer(4),
                        .task_id = std::string{row.bytes(3)}});
        jobs.insert(keys.back().job);
        groups.insert(group);
      }));
  outcome.next = rows == clean.limit ? last : 0;
  SqlValues ids;
  for (const std::int64_t job : jobs) ids.push_back(Value::of(job));
  std::set<std::int64_t> live;
  CARILLON_TRY(find_live(context.db, kExecutingTable, ids, live));
  CARILLON_TRY(find_live(context.db, kDelayedTable, ids, live));
  CARILLON_TRY(find_waiting(context, groups, ids, live));
  SqlValues log;
  std::vector<LogRowKeys> indexed;
  std::set<std::pair<std::int64_t, std::int64_t>> attempts;
  for (const LogKey& key : keys) {
    if (live.contains(key.job)) continue;
    log.push_back(Value::of(key.id));
    indexed.push_back({.log_id = key.id, .job_id = key.job, .task_id = key.task_id});
    if (key.attempt > 0) attempts.insert({key.job, key.attempt});
    ++outcome.count;
  }
  SqlValues output;
  for (const auto& [job, attempt] : attempts) {
    output.push_back(Value::of(job));
    output.push_back(Value::of(attempt));
  }
  CARILLON_TRY(remove_from_log_index(context.db, indexed));
  CARILLON_TRY(context.db.delete_rows("lts_job_log", kLogKey, log));
  CARILLON_TRY(context.db.delete_rows("lts_job_output", kAttemptKey, output));
  return {};
}

}  // namespace

Status write_cleanings(WriteContext& context, const OperationIndices& indices) {
  // It includes rows that its own batch has written.
  CARILLON_TRY(context.flush_log());
  for (const std::size_t index : indices) {
    context.current = index;
    CARILLON_TRY(clean(context, context.operation<CleanLog>(index), context.outcomes[index]));
  }
  return {};
}

}  // namespace carillon::jobtracker
