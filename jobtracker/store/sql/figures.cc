#include "jobtracker/store/sql/figures.h"

#include <algorithm>
#include <optional>

#include "jobtracker/store/sql/batch_writer.h"
#include "jobtracker/store/sql/sql_reads.h"
#include "jobtracker/store/sql/sql_rows.h"

namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kFiguresColumns =
    "minute_us, group_id, part_id, submitted, started, ended, failed, lateness_p50_ms, "
    "lateness_p95_ms, lateness_p99_ms, backlog, workers, threads";
constexpr int kFiguresWidth = 13;
constexpr std::string_view kSelectOldestFigures =
    "SELECT minute_us FROM lts_figures WHERE minute_us < ? ORDER BY minute_us LIMIT ?";
constexpr std::string_view kDeleteFigures = "DELETE FROM lts_figures WHERE minute_us <= ?";
constexpr std::string_view kFiguresSince = " FROM lts_figures WHERE minute_us >= ?";
// The rows after a key, in order.
constexpr std::string_view kFiguresAfter =
    " AND (minute_us > ? OR group_id > ? OR (group_id = ? AND part_id > ?))";
constexpr std::string_view kFiguresInOrder = " ORDER BY minute_us, group_id, part_id LIMIT ?";
constexpr std::string_view kFiguresSums =
    "SELECT minute_us, 0, 0, CAST(SUM(submitted) AS SIGNED), CAST(SUM(started) AS SIGNED), "
    "CAST(SUM(ended) AS SIGNED), CAST(SUM(failed) AS SIGNED), MAX(lateness_p50_ms), "
    "MAX(lateness_p95_ms), MAX(lateness_p99_ms), CAST(SUM(backlog) AS SIGNED), "
    "CAST(SUM(workers) AS SIGNED), CAST(SUM(threads) AS SIGNED)";
constexpr std::string_view kFiguresByMinute = " GROUP BY minute_us ORDER BY minute_us LIMIT ?";

void append_figures(SqlValues& values, const FiguresRow& row) {
  values.insert(values.end(),
                {value_of(row.minute), value_of(row.group), value_of(row.part),
                 Value::of(row.submitted), Value::of(row.started), Value::of(row.ended),
                 Value::of(row.failed), Value::of(row.lateness_p50_ms),
                 Value::of(row.lateness_p95_ms), Value::of(row.lateness_p99_ms),
                 Value::of(row.backlog), Value::of(row.workers), Value::of(row.threads)});
}

FiguresRow figures_of(const sql::Row& row) {
  const auto group = [&](int column) {
    return GroupId{static_cast<std::int32_t>(row.integer(column))};
  };
  return {.minute = wall_time(row.integer(0)),
          .group = group(1),
          .part = group(2),
          .submitted = row.integer(3),
          .started = row.integer(4),
          .ended = row.integer(5),
          .failed = row.integer(6),
          .lateness_p50_ms = row.integer(7),
          .lateness_p95_ms = row.integer(8),
          .lateness_p99_ms = row.integer(9),
          .backlog = row.integer(10),
          .workers = row.integer(11),
          .threads = row.integer(12)};
}

}  // namespace

Status write_figures(WriteContext& context, const OperationIndices& indices) {
  SqlValues values;
  for (const std::size_t index : indices)
    append_figures(values, context.operation<PutFigures>(index).row);
  return context.db.insert_rows(joined({"REPLACE INTO lts_figures (", kFiguresColumns, ") VALUES"}),
                                kFiguresWidth, values);
}

Result<std::int64_t> purge_figures(sql::Connection& db, WallTime before, std::int64_t limit) {
  std::optional<std::int64_t> last;
  CARILLON_TRY(db.query(kSelectOldestFigures, SqlValues{value_of(before), Value::of(limit)},
                        [&](const sql::Row& row) { last = row.integer(0); }));
  if (!last) return 0;
  return db.execute(kDeleteFigures, SqlValues{Value::of(*last)});
}

Result<ReadAnswer> SqlReads::read(const ListFigures& ask) {
  const auto& [minute, group, part] = ask.after;
  std::string where{kFiguresSince};
  SqlValues values{value_of(std::max(ask.since, minute))};
  const auto also = [&](std::string_view condition, std::initializer_list<Value> more) {
    where += condition;
    values.insert(values.end(), more);
  };
  if (ask.after != FiguresKey{})
    also(kFiguresAfter, {value_of(minute), value_of(group), value_of(group), value_of(part)});
  if (ask.until != WallTime{}) also(" AND minute_us < ?", {value_of(ask.until)});
  if (ask.group) also(" AND group_id = ?", {value_of(ask.group)});
  if (!ask.groups.empty()) also(" AND group_id IN (?", {value_of(ask.groups.front())});
  for (std::size_t i = 1; i < ask.groups.size(); ++i) also(", ?", {value_of(ask.groups[i])});
  if (!ask.groups.empty()) also(")", {});
  also(ask.is_sum ? kFiguresByMinute : kFiguresInOrder, {Value::of(ask.limit)});
  FiguresAnswer answer;
  const std::string columns =
      ask.is_sum ? std::string{kFiguresSums} : joined({"SELECT ", kFiguresColumns});
  CARILLON_TRY(db_.query(columns + where, values,
                         [&](const sql::Row& row) { answer.rows.push_back(figures_of(row)); }));
  return ReadAnswer{std::move(answer)};
}

}  // namespace carillon::jobtracker
