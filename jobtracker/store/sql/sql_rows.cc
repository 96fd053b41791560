#include "jobtracker/store/sql/sql_rows.h"

#include <charconv>

#include "jobtracker/store/names.h"
#include "shared/job/bucket.h"

namespace carillon::jobtracker {
namespace {

using sql::Row;
using sql::Value;

template <class Enum>
Value number_of(Enum value) {
  return Value::of(static_cast<std::int64_t>(value));
}

std::int32_t small(const Row& row, int column) {
  return static_cast<std::int32_t>(row.integer(column));
}

bool flag(const Row& row, int column) { return row.integer(column) != 0; }

// A value of the column `triggered`.
constexpr std::int64_t kMakesUp = 2;
Value triggered_of(const WaitingJob& job) {
  return Value::of(job.makes_up ? kMakesUp : std::int64_t{job.triggered});
}

WallTime time_at(const Row& row, int column) { return wall_time(row.integer(column)); }

std::string text_at(const Row& row, int column) { return std::string{row.bytes(column)}; }

}  // namespace

Value value_of(WallTime time) { return Value::of(time.time_since_epoch().count()); }

Value value_of(bool flag) { return Value::of(flag ? 1 : 0); }

WallTime wall_time(std::int64_t microseconds) { return WallTime{Duration{microseconds}}; }

Value key_of_task(sql::Dialect dialect, std::string_view task_id) {
  return dialect == sql::Dialect::kMysql ? Value::of_bytes(task_id) : Value::of_text(task_id);
}

void append_waiting(SqlValues& values, const WaitingJob& job) {
  values.insert(
      values.end(),
      {value_of(job.id), Value::of_text(job.task_id),
       job.definition ? value_of(job.definition) : Value::null(), Value::of(job.version),
       number_of(job.kind), value_of(job.keyed), Value::of(job.priority), value_of(due_time(job)),
       Value::of(job.attempt), Value::of(job.failures), Value::of(job.lost), triggered_of(job),
       value_of(job.forced), Value::of(bucket_of(job.task_id)), Value::of_bytes(job.spec),
       job.not_before ? value_of(job.trigger_time) : Value::null()});
}

void append_delayed(SqlValues& values, const WaitingJob& job) {
  append_waiting(values, job);
  values.push_back(value_of(job.group));
  values.push_back(value_of(job.suspended));
}

void append_executing(SqlValues& values, const ExecutingJob& job) {
  append_waiting(values, job.job);
  values.insert(values.end(),
                {value_of(job.job.group), value_of(job.session), Value::of_text(job.node),
                 value_of(job.claimed_at), value_of(job.cancelled)});
}

void append_definition(SqlValues& values, const Definition& definition, std::string_view schedule,
                       std::string_view tz) {
  values.insert(
      values.end(),
      {value_of(definition.id), value_of(definition.group), Value::of_text(definition.task_id),
       value_of(definition.keyed), Value::of(definition.version), number_of(definition.kind),
       number_of(definition.state), value_of(definition.created_at), value_of(definition.next_fire),
       value_of(definition.last_fire), value_of(definition.generated_through),
       Value::of(definition.fired), Value::of(bucket_of(definition.task_id)),
       Value::of_text(schedule), Value::of_text(tz), Value::of_bytes(definition.spec)});
}

namespace {

// The common first columns of log, feedback and alarms.
void append_end(SqlValues& values, const LogEntry& entry, std::string_view message) {
  values.insert(
      values.end(),
      {Value::of(entry.id), value_of(entry.job_id), value_of(entry.group),
       Value::of_text(entry.task_id), value_of(entry.definition), Value::of(entry.attempt),
       number_of(entry.state), value_of(entry.trigger_time), value_of(entry.started_at),
       value_of(entry.ended_at), Value::of_text(entry.node),
       entry.exit_code ? Value::of(*entry.exit_code) : Value::null(), Value::of_text(message)});
}

LogEntry end_of(const Row& row) {
  LogEntry entry{.id = row.integer(0),
                 .job_id = JobId{row.integer(1)},
                 .group = GroupId{small(row, 2)},
                 .task_id = text_at(row, 3),
                 .definition = DefinitionId{small(row, 4)},
                 .attempt = small(row, 5),
                 .state = static_cast<LogState>(row.integer(6)),
                 .trigger_time = time_at(row, 7),
                 .started_at = time_at(row, 8),
                 .ended_at = time_at(row, 9),
                 .node = text_at(row, 10),
                 .message = text_at(row, 12)};
  if (!row.is_null(11)) entry.exit_code = small(row, 11);
  return entry;
}

}  // namespace

void append_log(SqlValues& values, const LogEntry& entry, std::string_view message) {
  append_end(values, entry, message);
  values.insert(values.end(), {Value::of(entry.count), value_of(entry.final),
                               Value::of(bucket_of(entry.task_id)), Value::of(entry.executor_log)});
}

void append_feedback(SqlValues& values, const LogEntry& entry, std::string_view message) {
  append_end(values, entry, message);
  values.push_back(Value::of_text(entry.feedback_to));
}

void append_alarm(SqlValues& values, const LogEntry& entry, const AlarmMark& mark,
                  std::string_view message) {
  append_end(values, entry, message);
  values.insert(values.end(), {Value::of(mark.alarm), Value::of(mark.line),
                               Value::of(mark.failures), Value::of_text(mark.recipient)});
}

void append_output(SqlValues& values, const OutputRow& row) {
  values.insert(values.end(),
                {value_of(row.job_id), Value::of(row.attempt), Value::of(row.sequence),
                 Value::of(row.stream), value_of(row.at), Value::of_bytes(row.bytes)});
}

void append_node(SqlValues& values, const NodeRow& node) {
  values.insert(values.end(),
                {value_of(node.session), Value::of_text(node.name), value_of(node.group),
                 Value::of_text(node.address), Value::of(node.threads), value_of(node.started_at),
                 value_of(node.last_seen), value_of(node.alive)});
}

WaitingJob waiting_of(const Row& row, GroupId group) {
  const bool was_moved = !row.is_null(15);
  return {.id = JobId{row.integer(0)},
          .group = group,
          .task_id = text_at(row, 1),
          .keyed = flag(row, 5),
          .definition = DefinitionId{small(row, 2)},
          .version = small(row, 3),
          .kind = static_cast<ScheduleKind>(row.integer(4)),
          .priority = small(row, 6),
          .trigger_time = time_at(row, was_moved ? 15 : 7),
          .not_before = was_moved ? std::optional{time_at(row, 7)} : std::nullopt,
          .attempt = small(row, 8),
          .failures = small(row, 9),
          .lost = small(row, 10),
          .triggered = flag(row, 11),
          .makes_up = row.integer(11) == kMakesUp,
          .forced = flag(row, 12),
          .spec = text_at(row, 14)};
}

WaitingJob delayed_of(const Row& row) {
  auto job = waiting_of(row, GroupId{small(row, 16)});
  job.delayed = true;
  job.suspended = flag(row, 17);
  return job;
}

ExecutingJob executing_of(const Row& row) {
  return {.job = waiting_of(row, GroupId{small(row, 16)}),
          .session = SessionId{row.integer(17)},
          .node = text_at(row, 18),
          .claimed_at = time_at(row, 19),
          .cancelled = flag(row, 20)};
}

Definition definition_of(const Row& row) {
  return {.id = DefinitionId{small(row, 0)},
          .group = GroupId{small(row, 1)},
          .task_id = text_at(row, 2),
          .keyed = flag(row, 3),
          .version = small(row, 4),
          .kind = static_cast<ScheduleKind>(row.integer(5)),
          .state = static_cast<DefinitionState>(row.integer(6)),
          .created_at = time_at(row, 7),
          .next_fire = time_at(row, 8),
          .last_fire = time_at(row, 9),
          .generated_through = time_at(row, 10),
          .fired = row.integer(11),
          .spec = text_at(row, 15)};
}

LogEntry log_of(const Row& row) {
  LogEntry entry = end_of(row);
  entry.count = row.integer(13);
  entry.final = flag(row, 14);
  entry.executor_log = row.integer(16);
  return entry;
}

LogEntry feedback_of(const Row& row) {
  LogEntry entry = end_of(row);
  entry.feedback_to = text_at(row, 13);
  return entry;
}

AlarmRow alarm_of(const Row& row) {
  return {.mark = {.alarm = row.integer(13),
                   .line = small(row, 14),
                   .failures = row.integer(15),
                   .recipient = text_at(row, 16)},
          .entry = end_of(row)};
}

OutputRow output_of(const Row& row) {
  return {.job_id = JobId{row.integer(0)},
          .attempt = small(row, 1),
          .sequence = row.integer(2),
          .stream = static_cast<int>(row.integer(3)),
          .at = time_at(row, 4),
          .bytes = text_at(row, 5)};
}

NodeRow node_of(const Row& row) {
  return {.session = SessionId{row.integer(0)},
          .name = text_at(row, 1),
          .group = GroupId{small(row, 2)},
          .address = text_at(row, 3),
          .threads = small(row, 4),
          .started_at = time_at(row, 5),
          .last_seen = time_at(row, 6),
          .alive = flag(row, 7)};
}

// One "kind job definition count;" per outcome, in decimal: readable in the table, and small.
ExecutorGroup executor_group_of(const Row& row) {
  return {.group = GroupId{small(row, 0)}, .token = text_at(row, 1)};
}

ExecutorRow executor_of(const Row& row) {
  return {.group = GroupId{small(row, 0)},
          .address = text_at(row, 1),
          .is_manual = flag(row, 2),
          .has_trigger = flag(row, 3),
          .registered_at = time_at(row, 4),
          .reports_busy_state = flag(row, 5),
          .place = small(row, 6)};
}

PushRun push_run_of(const Row& row) {
  return {.log_id = row.integer(0),
          .group = GroupId{small(row, 1)},
          .job = JobId{row.integer(2)},
          .attempt = small(row, 3),
          .shard = small(row, 4),
          .shards = small(row, 5),
          .address = text_at(row, 6),
          .failures = small(row, 7),
          .called_at = time_at(row, 8),
          .code = small(row, 9),
          .message = text_at(row, 10),
          .is_taken = flag(row, 11)};
}

RouteRow route_of(const Row& row) {
  return {.definition = DefinitionId{small(row, 0)},
          .group = GroupId{small(row, 1)},
          .memory = text_at(row, 2)};
}

ExecutorResult executor_result_of(const Row& row) {
  return {.id = row.integer(0),
          .log_id = row.integer(1),
          .code = small(row, 2),
          .message = text_at(row, 3)};
}

std::string encode_outcomes(const Outcome* first, std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    const Outcome& outcome = first[i];
    bytes += std::to_string(static_cast<int>(outcome.kind)) + ' ' +
             std::to_string(outcome.existing_job.value) + ' ' +
             std::to_string(outcome.existing_definition.value) + ' ' +
             std::to_string(outcome.count) + ';';
  }
  return bytes;
}

Result<std::vector<Outcome>> decode_outcomes(std::string_view bytes) {
  std::vector<Outcome> outcomes;
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  const auto number = [&](char after) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const auto [next, failure] = std::from_chars(at, end, value);
    if (failure != std::errc{} || next == end || *next != after) return std::nullopt;
    at = next + 1;
    return value;
  };
  while (at != end) {
    const auto kind = number(' ');
    const auto job = number(' ');
    const auto definition = number(' ');
    const auto count = number(';');
    if (!kind || !job || !definition || !count || *kind < 0 || *kind > 3) {
      return Error{ErrorCode::kCorrupt,
                   "lts_client has invalid outcomes: '" + std::string{bytes.substr(0, 80)} + "'"};
    }
    outcomes.push_back({.kind = static_cast<OutcomeKind>(*kind),
                        .existing_job = JobId{*job},
                        .existing_definition = DefinitionId{static_cast<std::int32_t>(*definition)},
                        .count = *count});
  }
  return outcomes;
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

bool is_duplicate_key(const Error& error) {
  return error.message.find("(1062)") != std::string::npos;
}

}  // namespace carillon::jobtracker
