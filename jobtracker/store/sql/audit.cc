#include "jobtracker/store/sql/audit.h"

#include <deque>

#include "jobtracker/store/sql/batch_writer.h"
#include "jobtracker/store/sql/sql_reads.h"
#include "jobtracker/store/sql/sql_rows.h"

namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kAuditColumns =
    "audit_id, at_us, by_name, by_kind, address, action, group_name, task_id, outcome, "
    "before_json, "
    "after_json";
constexpr int kAuditWidth = 11;
constexpr std::string_view kSelectOldestAudit =
    "SELECT audit_id FROM lts_audit WHERE audit_id < ? ORDER BY audit_id LIMIT ?";
constexpr std::string_view kDeleteAudit = "DELETE FROM lts_audit WHERE audit_id <= ?";

void append_audit(SqlValues& values, const AuditRow& row) {
  values.insert(values.end(), {Value::of(row.id), value_of(row.at), Value::of_text(row.by),
                               Value::of_text(row.kind), Value::of_text(row.address),
                               Value::of_text(row.action), Value::of_text(row.group),
                               Value::of_text(row.task_id), Value::of_text(row.outcome),
                               Value::of_bytes(row.before), Value::of_bytes(row.after)});
}

Status insert_audit(sql::Connection& db, const SqlValues& values) {
  return db.insert_rows(joined({"INSERT INTO lts_audit (", kAuditColumns, ") VALUES"}), kAuditWidth,
                        values);
}

AuditRow audit_of(const sql::Row& row) {
  const auto text = [&](int column) { return std::string{row.bytes(column)}; };
  return {.id = row.integer(0),
          .at = wall_time(row.integer(1)),
          .by = text(2),
          .kind = text(3),
          .address = text(4),
          .action = text(5),
          .group = text(6),
          .task_id = text(7),
          .outcome = text(8),
          .before = text(9),
          .after = text(10)};
}

}  // namespace

Status store_audit(sql::Connection& db, const Batch& batch, const Committed& committed) {
  std::deque<AuditRow> rows;  // the values refer to their texts
  SqlValues values;
  for (std::size_t i = 0; i < batch.requests.size(); ++i) {
    if (committed.requests[i].answered_before) continue;
    auto row = audit_row_of(batch.requests[i], committed.outcomes);
    if (row) append_audit(values, rows.emplace_back(*std::move(row)));
  }
  return insert_audit(db, values);
}

Status write_audit(WriteContext& context, const OperationIndices& indices) {
  SqlValues values;
  for (const std::size_t index : indices)
    append_audit(values, context.operation<AddAudit>(index).row);
  return insert_audit(context.db, values);
}

Result<std::int64_t> purge_audit(sql::Connection& db, std::int64_t before, std::int64_t limit) {
  std::int64_t rows = 0;
  std::int64_t last = 0;
  CARILLON_TRY(db.query(kSelectOldestAudit, SqlValues{Value::of(before), Value::of(limit)},
                        [&](const sql::Row& row) {
                          ++rows;
                          last = row.integer(0);
                        }));
  if (rows > 0) CARILLON_TRY(db.execute(kDeleteAudit, SqlValues{Value::of(last)}));
  return rows;
}

Result<ReadAnswer> SqlReads::read(const ListAudit& ask) {
  std::string where = " FROM lts_audit WHERE audit_id >= ?";
  SqlValues values{Value::of(ask.from_id)};
  const auto also = [&](std::string_view condition, Value value) {
    where += condition;
    values.push_back(value);
  };
  if (ask.before_id != 0) also(" AND audit_id < ?", Value::of(ask.before_id));
  if (!ask.group.empty()) also(" AND group_name = ?", Value::of_text(ask.group));
  if (!ask.task_id.empty()) also(" AND task_id = ?", Value::of_text(ask.task_id));
  if (!ask.by.empty()) also(" AND by_name = ?", Value::of_text(ask.by));
  also(" ORDER BY audit_id DESC LIMIT ?", Value::of(ask.limit));
  AuditAnswer answer;
  CARILLON_TRY(db_.query(joined({"SELECT ", kAuditColumns, where}), values,
                         [&](const sql::Row& row) { answer.rows.push_back(audit_of(row)); }));
  return ReadAnswer{std::move(answer)};
}

}  // namespace carillon::jobtracker
