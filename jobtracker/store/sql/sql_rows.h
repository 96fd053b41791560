#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jobtracker/store/batch.h"
#include "jobtracker/store/rows.h"
#include "shared/sql/sql_connection.h"

// The rows of the tables as SQL values: their columns in order. Pure functions.
//
// The values that append_... adds are views of the given row, which must outlive their use.
namespace carillon::jobtracker {

using SqlValues = std::vector<sql::Value>;

// Columns of a group's table; the delayed and the executing table start with the same columns.
inline constexpr std::string_view kWaitingColumns =
    "job_id, task_id, definition_id, version, kind, keyed, priority, trigger_time_us, attempt, "
    "failures, lost, triggered, forced, bucket, spec, moved_from_us";
inline constexpr int kWaitingWidth = 16;
inline constexpr std::string_view kDelayedColumns =
    "job_id, task_id, definition_id, version, kind, keyed, priority, trigger_time_us, attempt, "
    "failures, lost, triggered, forced, bucket, spec, moved_from_us, group_id, suspended";
inline constexpr int kDelayedWidth = 18;
inline constexpr std::string_view kExecutingColumns =
    "job_id, task_id, definition_id, version, kind, keyed, priority, trigger_time_us, attempt, "
    "failures, lost, triggered, forced, bucket, spec, moved_from_us, group_id, session_id, node, "
    "claimed_us, cancelled";
inline constexpr int kExecutingWidth = 21;
inline constexpr std::string_view kDefinitionColumns =
    "definition_id, group_id, task_id, keyed, version, kind, state, created_us, next_fire_us, "
    "last_fire_us, generated_through_us, fired, bucket, schedule, tz, spec";
inline constexpr int kDefinitionWidth = 16;
inline constexpr std::string_view kLogColumns =
    "log_id, job_id, group_id, task_id, definition_id, attempt, state, trigger_time_us, "
    "started_us, ended_us, node, exit_code, message, fires, final, bucket, executor_log_id";
inline constexpr int kLogWidth = 17;
inline constexpr std::string_view kFeedbackColumns =
    "feedback_id, job_id, group_id, task_id, definition_id, attempt, state, trigger_time_us, "
    "started_us, ended_us, node, exit_code, message, client_group";
inline constexpr int kFeedbackWidth = 14;
inline constexpr std::string_view kAlarmColumns =
    "log_id, job_id, group_id, task_id, definition_id, attempt, state, trigger_time_us, "
    "started_us, ended_us, node, exit_code, message, alarm_id, line, failures, recipient";
inline constexpr int kAlarmWidth = 17;
inline constexpr std::string_view kOutputColumns =
    "job_id, attempt, sequence, stream, at_us, bytes";
inline constexpr int kOutputWidth = 6;
inline constexpr std::string_view kNodeColumns =
    "session_id, name, group_id, address, threads, started_us, last_seen_us, alive";
inline constexpr int kNodeWidth = 8;

inline constexpr std::string_view kExecutorGroupColumns = "group_id, token";
inline constexpr int kExecutorGroupWidth = 2;
inline constexpr std::string_view kExecutorColumns =
    "group_id, address, manual, has_trigger, registered_us, honest, place";
inline constexpr int kExecutorWidth = 7;
inline constexpr std::string_view kPushRunColumns =
    "log_id, group_id, job_id, attempt, shard, shards, address, failures, called_us, code, "
    "message, "
    "taken";
inline constexpr int kPushRunWidth = 12;
inline constexpr std::string_view kRouteColumns = "definition_id, group_id, memory";
inline constexpr int kRouteWidth = 3;
inline constexpr std::string_view kExecutorResultColumns = "result_id, log_id, code, message";
inline constexpr int kExecutorResultWidth = 4;

inline constexpr std::string_view kScriptTable = "lts_script";
inline constexpr std::string_view kExecutorGroupTable = "lts_executor_group";
inline constexpr std::string_view kExecutorTable = "lts_executor";
inline constexpr std::string_view kPushRunTable = "lts_push_run";
inline constexpr std::string_view kRouteTable = "lts_push_route";
inline constexpr std::string_view kExecutorResultTable = "lts_executor_result";
inline constexpr std::string_view kDelayedTable = "lts_delayed_job_queue";
inline constexpr std::string_view kExecutingTable = "lts_executing_job_queue";
inline constexpr std::string_view kCronTable = "lts_cron_job_queue";
inline constexpr std::string_view kRepeatTable = "lts_repeat_job_queue";
inline constexpr std::string_view kTaskIdTable = "lts_task_id";
inline constexpr std::string_view kFeedbackTable = "lts_feedback_queue";
inline constexpr std::string_view kAlarmTable = "lts_alarm";
inline constexpr std::string_view kDelayedTaskIdTable = "lts_delayed_task_id";

// The table of definitions of this kind.
constexpr std::string_view definition_table(ScheduleKind kind) {
  return kind == ScheduleKind::kCron ? kCronTable : kRepeatTable;
}

// A definition's schedule as text, for readers of the tables.
struct ScheduleText {
  std::string schedule{};
  std::string tz{};
};

sql::Value value_of(WallTime time);
sql::Value value_of(bool flag);
template <class Tag, class Number>
sql::Value value_of(Id<Tag, Number> id) {
  return sql::Value::of(id.value);
}
WallTime wall_time(std::int64_t microseconds);

// A task id as a key of lts_task_id. On MySQL its column is binary, because text comparison ignores
// trailing spaces.
sql::Value key_of_task(sql::Dialect dialect, std::string_view task_id);

void append_waiting(SqlValues& values, const WaitingJob& job);
void append_delayed(SqlValues& values, const WaitingJob& job);
void append_executing(SqlValues& values, const ExecutingJob& job);
void append_definition(SqlValues& values, const Definition& definition, std::string_view schedule,
                       std::string_view tz);
// `message`: the stored form of entry.message.
void append_log(SqlValues& values, const LogEntry& entry, std::string_view message);
void append_feedback(SqlValues& values, const LogEntry& entry, std::string_view message);
void append_alarm(SqlValues& values, const LogEntry& entry, const AlarmMark& mark,
                  std::string_view message);
void append_output(SqlValues& values, const OutputRow& row);
void append_node(SqlValues& values, const NodeRow& node);

// From rows of SELECTs with the column lists above.
WaitingJob waiting_of(const sql::Row& row, GroupId group);
WaitingJob delayed_of(const sql::Row& row);
ExecutingJob executing_of(const sql::Row& row);
Definition definition_of(const sql::Row& row);
LogEntry log_of(const sql::Row& row);
LogEntry feedback_of(const sql::Row& row);
AlarmRow alarm_of(const sql::Row& row);
OutputRow output_of(const sql::Row& row);
NodeRow node_of(const sql::Row& row);
ExecutorGroup executor_group_of(const sql::Row& row);
ExecutorRow executor_of(const sql::Row& row);
PushRun push_run_of(const sql::Row& row);
RouteRow route_of(const sql::Row& row);
ExecutorResult executor_result_of(const sql::Row& row);

// The outcomes of a request, as bytes for lts_client.
std::string encode_outcomes(const Outcome* first, std::size_t count);
// Error: kCorrupt if the bytes are invalid.
Result<std::vector<Outcome>> decode_outcomes(std::string_view bytes);

// Concatenates texts; for statements with a checked table name.
std::string joined(std::initializer_list<std::string_view> parts);

// MySQL's error for a duplicate key.
bool is_duplicate_key(const Error& error);

}  // namespace carillon::jobtracker
