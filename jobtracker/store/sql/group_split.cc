#include "jobtracker/store/sql/group_split.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/store/session_plan.h"
#include "jobtracker/store/sql/batch_writer.h"
#include "jobtracker/store/sql/embedded_schema.h"
#include "jobtracker/store/sql/sql_rows.h"
#include "shared/base/utf8.h"
#include "shared/job/bucket.h"

namespace carillon::jobtracker {
namespace {

using sql::Value;

// SQLite's begin() has taken the only write lock.
constexpr std::string_view kSelectConnection =
    "SELECT batch FROM lts_tracker WHERE session_id = ? AND lane = ?";
constexpr std::string_view kLockConnection =
    "SELECT batch FROM lts_tracker WHERE session_id = ? AND lane = ? FOR UPDATE";
constexpr std::string_view kInsertPart =
    "INSERT INTO lts_node_group (group_id, name, name_lower, table_name, served, created_us) "
    "VALUES (?, ?, ?, ?, ?, ?)";
constexpr std::string_view kInsertWaiting = "INSERT INTO lts_waiting_group (group_id) VALUES (?)";
constexpr std::string_view kCountExecutors =
    "SELECT COUNT(*) FROM lts_executor_group WHERE group_id = ?";
constexpr std::string_view kSelectInboxOfGroup =
    "SELECT inbox_id, task_id FROM lts_inbox WHERE group_id = ?";
constexpr std::string_view kMoveInbox = "UPDATE lts_inbox SET group_id = ? WHERE inbox_id = ?";
constexpr std::string_view kOfBuckets = " WHERE bucket BETWEEN ? AND ?";
constexpr std::string_view kToPart =
    " SET group_id = ? WHERE group_id = ? AND bucket BETWEEN ? AND ?";
constexpr std::string_view kAfterTask =
    " WHERE group_id = ? AND task_id > ? ORDER BY task_id LIMIT 10000";
constexpr std::string_view kTasksToPart = " SET group_id = ? WHERE group_id = ? AND task_id IN ";
// All tables with a group and a bucket.
constexpr std::string_view kSharedTables[] = {"lts_cron_job_queue", "lts_repeat_job_queue",
                                              kDelayedTable, kExecutingTable};
constexpr int kTries = 5;

// These tables have no bucket, because readers know the task id.
Status move_task_ids(sql::Connection& db, std::string_view table, const SplitPlan& plan) {
  std::string after;
  while (true) {
    std::vector<std::string> page;
    CARILLON_TRY(db.query(joined({"SELECT task_id FROM ", table, kAfterTask}),
                          SqlValues{value_of(plan.whole.id), key_of_task(db.dialect(), after)},
                          [&](const sql::Row& row) { page.emplace_back(row.bytes(0)); }));
    if (page.empty()) return {};
    for (const NewGroupPartition& part : plan.parts) {
      SqlValues its;
      for (const std::string& task_id : page) {
        if (part.takes(bucket_of(task_id))) its.push_back(key_of_task(db.dialect(), task_id));
      }
      const auto move = [&](std::string_view list, std::span<const Value> chunk) -> Status {
        SqlValues values{value_of(part.group.id), value_of(plan.whole.id)};
        values.insert(values.end(), chunk.begin(), chunk.end());
        CARILLON_TRY(db.execute(joined({"UPDATE ", table, kTasksToPart, list}), values));
        return {};
      };
      CARILLON_TRY(in_lists(its, move));
    }
    after = std::move(page.back());
  }
}

Status move_rows(sql::Connection& db, const NewGroupPartition& part, const Group& whole) {
  const SqlValues buckets{Value::of(part.first_bucket), Value::of(part.last_bucket)};
  CARILLON_TRY(db.execute(joined({"INSERT INTO ", part.group.table, " (", kWaitingColumns,
                                  ") SELECT ", kWaitingColumns, " FROM ", whole.table, kOfBuckets}),
                          buckets));
  CARILLON_TRY(db.execute(joined({"DELETE FROM ", whole.table, kOfBuckets}), buckets));
  for (const std::string_view table : kSharedTables) {
    CARILLON_TRY(
        db.execute(joined({"UPDATE ", table, kToPart}),
                   SqlValues{value_of(part.group.id), value_of(whole.id), buckets[0], buckets[1]}));
  }
  return {};
}

Status move_inbox(sql::Connection& db, const SplitPlan& plan) {
  std::vector<std::pair<std::int64_t, int>> rows;
  CARILLON_TRY(db.query(
      kSelectInboxOfGroup, SqlValues{value_of(plan.whole.id)},
      [&](const sql::Row& row) { rows.emplace_back(row.integer(0), bucket_of(row.bytes(1))); }));
  for (const auto& [id, bucket] : rows) {
    for (const NewGroupPartition& part : plan.parts) {
      if (!part.takes(bucket)) continue;
      CARILLON_TRY(db.execute(kMoveInbox, SqlValues{value_of(part.group.id), Value::of(id)}));
    }
  }
  return {};
}

// Error: kDenied if it was fenced.
Status prove(sql::Connection& db, const StoreSession& session, std::string_view select) {
  bool is_ours = false;
  CARILLON_TRY(db.query(select, SqlValues{value_of(session.session), Value::of(session.connection)},
                        [&](const sql::Row&) { is_ours = true; }));
  if (!is_ours) return fenced_error(session);
  return {};
}

Status write(sql::Connection& db, const StoreSession& session, const SplitPlan& plan) {
  CARILLON_TRY(db.begin());
  CARILLON_TRY(prove(db, session,
                     db.dialect() == sql::Dialect::kMysql ? kLockConnection : kSelectConnection));
  for (const NewGroupPartition& part : plan.parts) {
    const Group& group = part.group;
    CARILLON_TRY(db.execute(
        kInsertPart, SqlValues{value_of(group.id), Value::of_text(group.name),
                               Value::of_text(lower_ascii(group.name)), Value::of_text(group.table),
                               value_of(group.served), value_of(group.created_at)}));
    CARILLON_TRY(db.execute(kInsertWaiting, SqlValues{value_of(group.id)}));
    CARILLON_TRY(move_rows(db, part, plan.whole));
  }
  CARILLON_TRY(move_task_ids(db, kTaskIdTable, plan));
  CARILLON_TRY(move_task_ids(db, kDelayedTaskIdTable, plan));
  CARILLON_TRY(move_inbox(db, plan));
  return db.commit();
}

}  // namespace

Result<Group> split_group(sql::Connection& db, GroupCatalog& groups, const StoreSession& session,
                          const Partitions& owned, const GroupSplit& split, WallTime now) {
  for (int tries = 1;; ++tries) {
    CARILLON_TRY(prove(db, session, kSelectConnection));
    const auto all = CARILLON_TRY(groups.read_all(db));
    const auto plan = CARILLON_TRY(plan_split(all, split, owned, now));
    std::int64_t executors = 0;
    CARILLON_TRY(db.query(kCountExecutors, SqlValues{value_of(plan.whole.id)},
                          [&](const sql::Row& row) { executors = row.integer(0); }));
    if (executors > 0) return executors_error(plan.whole);
    // Before the transaction, which creating tables would end. Tables of a failed split are reused.
    for (const NewGroupPartition& part : plan.parts) {
      CARILLON_TRY(
          db.run_script(for_group_table(group_table_script(db.dialect()), part.group.table)));
    }
    const Status written = write(db, session, plan);
    if (written.ok()) return plan.whole;
    (void)db.rollback();  // Otherwise the connection is closed.
    // Another job tracker may have created a group with one of the numbers.
    const bool may_be_taken = written.error().code == ErrorCode::kInvalidArgument;
    if (!may_be_taken || tries == kTries) return written.error();
  }
}

}  // namespace carillon::jobtracker
