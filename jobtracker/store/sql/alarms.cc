#include "jobtracker/store/sql/alarms.h"

#include <algorithm>

#include "jobtracker/store/sql/batch_writer.h"
#include "jobtracker/store/sql/sql_reads.h"
#include "jobtracker/store/sql/sql_rows.h"

namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kAlarmHistoryColumns =
    "alarm_id, at_us, group_id, rule, recipient, state, message";
constexpr int kAlarmHistoryWidth = 7;
constexpr std::string_view kReplaceSilence = "REPLACE INTO lts_silence (group_id, until_us) VALUES";
constexpr std::string_view kDeleteSilence = "DELETE FROM lts_silence WHERE group_id = ?";
constexpr std::string_view kDeleteOldSilences = "DELETE FROM lts_silence WHERE until_us < ?";
constexpr std::string_view kSelectSilences =
    "SELECT group_id, until_us FROM lts_silence ORDER BY group_id";
// The newest row beyond a number of them.
constexpr std::string_view kSelectFirstBeyond =
    "SELECT alarm_id FROM lts_alarm_history ORDER BY alarm_id DESC LIMIT 1 OFFSET ?";
constexpr std::string_view kSelectOldestAlarms =
    "SELECT alarm_id FROM lts_alarm_history WHERE alarm_id < ? ORDER BY alarm_id LIMIT ?";
constexpr std::string_view kDeleteAlarmHistory =
    "DELETE FROM lts_alarm_history WHERE alarm_id <= ?";

void append_alarm_history(SqlValues& values, const AlarmHistoryRow& row) {
  values.insert(values.end(),
                {Value::of(row.id), value_of(row.at), value_of(row.group), Value::of_text(row.rule),
                 Value::of_text(row.recipient), Value::of(static_cast<int>(row.state)),
                 Value::of_text(row.message)});
}

AlarmHistoryRow alarm_history_of(const sql::Row& row) {
  return {.id = row.integer(0),
          .at = wall_time(row.integer(1)),
          .group = GroupId{static_cast<std::int32_t>(row.integer(2))},
          .rule = std::string{row.bytes(3)},
          .recipient = std::string{row.bytes(4)},
          .state = static_cast<AlarmState>(row.integer(5)),
          .message = std::string{row.bytes(6)}};
}

}  // namespace

Status write_alarm_history(WriteContext& context, const OperationIndices& indices) {
  SqlValues values;
  for (const std::size_t index : indices)
    append_alarm_history(values, context.operation<PutAlarmHistory>(index).row);
  return context.db.insert_rows(
      joined({"REPLACE INTO lts_alarm_history (", kAlarmHistoryColumns, ") VALUES"}),
      kAlarmHistoryWidth, values);
}

Status write_silences(WriteContext& context, const OperationIndices& indices) {
  for (const std::size_t index : indices) {
    context.current = index;
    const SilenceRow& row = context.operation<PutSilence>(index).row;
    if (row.until == WallTime{}) {
      CARILLON_TRY(context.db.execute(kDeleteSilence, SqlValues{value_of(row.group)}));
    } else {
      CARILLON_TRY(context.db.insert_rows(kReplaceSilence, 2,
                                          SqlValues{value_of(row.group), value_of(row.until)}));
    }
  }
  return {};
}

Result<std::int64_t> purge_alarms(sql::Connection& db, const Purge& purge, WallTime now) {
  CARILLON_TRY(db.execute(kDeleteOldSilences, SqlValues{value_of(now)}));
  std::int64_t before = purge.audit_before;
  if (purge.alarms_max > 0) {
    CARILLON_TRY(
        db.query(kSelectFirstBeyond, SqlValues{Value::of(purge.alarms_max)},
                 [&](const sql::Row& row) { before = std::max(before, row.integer(0) + 1); }));
  }
  std::int64_t rows = 0;
  std::int64_t last = 0;
  CARILLON_TRY(db.query(kSelectOldestAlarms, SqlValues{Value::of(before), Value::of(purge.limit)},
                        [&](const sql::Row& row) {
                          ++rows;
                          last = row.integer(0);
                        }));
  if (rows > 0) CARILLON_TRY(db.execute(kDeleteAlarmHistory, SqlValues{Value::of(last)}));
  return rows;
}

Result<ReadAnswer> SqlReads::read(const ListAlarmHistory& ask) {
  std::string where = " FROM lts_alarm_history WHERE alarm_id > 0";
  SqlValues values;
  const auto also = [&](std::string_view condition, Value value) {
    where += condition;
    values.push_back(value);
  };
  if (ask.before_id != 0) also(" AND alarm_id < ?", Value::of(ask.before_id));
  if (ask.group) also(" AND group_id = ?", value_of(ask.group));
  also(" ORDER BY alarm_id DESC LIMIT ?", Value::of(ask.limit));
  AlarmHistoryAnswer answer;
  CARILLON_TRY(
      db_.query(joined({"SELECT ", kAlarmHistoryColumns, where}), values,
                [&](const sql::Row& row) { answer.rows.push_back(alarm_history_of(row)); }));
  return ReadAnswer{std::move(answer)};
}

Result<ReadAnswer> SqlReads::read(const ListSilences&) {
  SilencesAnswer answer;
  answer.rows = CARILLON_TRY(silences());
  return ReadAnswer{std::move(answer)};
}

Result<std::vector<SilenceRow>> SqlReads::silences() {
  std::vector<SilenceRow> rows;
  CARILLON_TRY(db_.query(kSelectSilences, {}, [&](const sql::Row& row) {
    rows.push_back({.group = GroupId{static_cast<std::int32_t>(row.integer(0))},
                    .until = wall_time(row.integer(1))});
  }));
  return rows;
}

}  // namespace carillon::jobtracker
