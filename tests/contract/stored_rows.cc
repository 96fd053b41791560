#include "tests/contract/stored_rows.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "jobtracker/store/request_slots.h"
#include "shared/base/joined.h"
#include "shared/job/bucket.h"

namespace carillon::jobtracker {
namespace {

constexpr char kBetween = '\x1f';
constexpr std::size_t kLinesShown = 5;
constexpr std::size_t kShownOfLine = 400;

std::string cell(std::int64_t number) { return std::to_string(number); }
std::string cell(WallTime time) { return std::to_string(time.time_since_epoch().count()); }
std::string cell(const std::string& text) { return text; }
template <class Tag, class Number>
std::string cell(Id<Tag, Number> id) {
  return std::to_string(id.value);
}
template <class Enum, class = std::enable_if_t<std::is_enum_v<Enum>>>
std::string cell(Enum value) {
  return std::to_string(static_cast<int>(value));
}
template <class Value>
std::string cell(const std::optional<Value>& value) {
  return value ? cell(*value) : "NULL";
}

template <class... Cells>
std::string line(const Cells&... cells) {
  std::string text;
  ((text += cell(cells), text += kBetween), ...);
  return text;
}

using Columns = std::vector<std::string>;

Columns operator+(Columns columns, const Columns& more) {
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

const Columns kWaiting = {"job_id",  "task_id",  "definition_id", "version",
                          "kind",    "keyed",    "priority",      "trigger_time_us",
                          "attempt", "failures", "lost",          "triggered",
                          "forced",  "bucket",   "spec",          "moved_from_us"};
std::string line_of(const WaitingJob& job) {
  const auto definition = job.definition ? std::optional{job.definition} : std::nullopt;
  const auto moved_from = job.not_before ? std::optional{job.trigger_time} : std::nullopt;
  return line(job.id, job.task_id, definition, job.version, job.kind, job.keyed, job.priority,
              job.not_before.value_or(job.trigger_time), job.attempt, job.failures, job.lost,
              job.makes_up ? 2 : int{job.triggered}, job.forced, bucket_of(job.task_id), job.spec,
              moved_from);
}

// Of the log, the feedback and the alarms.
const Columns kEnd = {"job_id",   "group_id", "task_id",         "definition_id",
                      "attempt",  "state",    "trigger_time_us", "started_us",
                      "ended_us", "node",     "exit_code",       "message"};
std::string line_of(const LogEntry& entry) {
  return line(entry.job_id, entry.group, entry.task_id, entry.definition, entry.attempt,
              entry.state, entry.trigger_time, entry.started_at, entry.ended_at, entry.node,
              entry.exit_code, entry.message);
}

void add_jobs(const MemoryTables& tables, StoredTables& to) {
  for (const auto& [id, group] : tables.groups) {
    StoredTable& table = to[group.table];
    table.columns = kWaiting;
    for (const auto& [job_id, job] : tables.waiting.at(id).all())
      table.rows.push_back(line_of(job));
  }
  StoredTable& delayed = to["lts_delayed_job_queue"];
  delayed.columns = kWaiting + Columns{"group_id", "suspended"};
  for (const auto& [id, job] : tables.delayed.all())
    delayed.rows.push_back(line_of(job) + line(job.group, job.suspended));
  StoredTable& executing = to["lts_executing_job_queue"];
  executing.columns =
      kWaiting + Columns{"group_id", "session_id", "node", "claimed_us", "cancelled"};
  for (const auto& [id, one] : tables.executing) {
    executing.rows.push_back(line_of(one.job) + line(one.job.group, one.session, one.node,
                                                     one.claimed_at, one.cancelled));
  }
  for (const char* name : {"lts_task_id", "lts_delayed_task_id"})
    to[name].columns = {"group_id", "task_id", "job_id", "definition_id"};
  for (const auto& [key, holder] : tables.keys) {
    const bool is_delayed = holder.job && tables.delayed.find(holder.job) != nullptr;
    to[is_delayed ? "lts_delayed_task_id" : "lts_task_id"].rows.push_back(
        line(key.first, key.second, holder.job, holder.definition));
  }
}

void add_definitions(const MemoryTables& tables, StoredTables& to) {
  for (const char* name : {"lts_cron_job_queue", "lts_repeat_job_queue"}) {
    to[name].columns = {"definition_id",
                        "group_id",
                        "task_id",
                        "keyed",
                        "version",
                        "kind",
                        "state",
                        "created_us",
                        "next_fire_us",
                        "last_fire_us",
                        "generated_through_us",
                        "fired",
                        "bucket",
                        "schedule",
                        "tz",
                        "spec"};
  }
  for (const auto& [id, one] : tables.definitions) {
    const bool is_cron = one.kind == ScheduleKind::kCron;
    to[is_cron ? "lts_cron_job_queue" : "lts_repeat_job_queue"].rows.push_back(
        line(one.id, one.group, one.task_id, one.keyed, one.version, one.kind, one.state,
             one.created_at, one.next_fire, one.last_fire, one.generated_through, one.fired,
             bucket_of(one.task_id), std::string{}, std::string{}, one.spec));
  }
  to["lts_definition_high"] = {{"one", "definition_id"}, {line(1, tables.definition_high)}};
  StoredTable& scripts = to["lts_script"];
  scripts.columns = {"definition_id", "version", "language", "remark", "source"};
  for (const auto& [key, one] : tables.scripts)
    scripts.rows.push_back(line(key.first, one.version, one.language, one.remark, one.source));
}

void add_audit(const MemoryTables& tables, StoredTables& to) {
  StoredTable& audit = to["lts_audit"];
  audit.columns = {"audit_id",   "at_us",   "by_name", "by_kind",     "address",   "action",
                   "group_name", "task_id", "outcome", "before_json", "after_json"};
  for (const auto& [id, one] : tables.audit) {
    audit.rows.push_back(line(id, one.at, one.by, one.kind, one.address, one.action, one.group,
                              one.task_id, one.outcome, one.before, one.after));
  }
}

void add_principals(const MemoryTables& tables, StoredTables& to) {
  StoredTable& principals = to["lts_principal"];
  principals.columns = {"kind",       "name",       "role",       "node_groups", "secret",
                        "created_us", "created_by", "expires_us", "language"};
  for (const auto& [key, one] : tables.principals) {
    principals.rows.push_back(line(key.first, key.second,
                                   std::string{to_string(one.principal.role)},
                                   joined(one.principal.groups, " "), one.secret, one.created_at,
                                   one.created_by, one.expires_at, one.language));
  }
}

void add_figures(const MemoryTables& tables, StoredTables& to) {
  StoredTable& figures = to["lts_figures"];
  figures.columns = {"minute_us",       "group_id",        "part_id", "submitted",
                     "started",         "ended",           "failed",  "lateness_p50_ms",
                     "lateness_p95_ms", "lateness_p99_ms", "backlog", "workers",
                     "threads"};
  for (const auto& [key, one] : tables.figures) {
    figures.rows.push_back(line(one.minute, one.group, one.part, one.submitted, one.started,
                                one.ended, one.failed, one.lateness_p50_ms, one.lateness_p95_ms,
                                one.lateness_p99_ms, one.backlog, one.workers, one.threads));
  }
}

void add_ends(const MemoryTables& tables, StoredTables& to) {
  StoredTable& log = to["lts_job_log"];
  log.columns = Columns{"log_id"} + kEnd + Columns{"fires", "final", "bucket", "executor_log_id"};
  for (const auto& [id, one] : tables.log) {
    log.rows.push_back(line(id) + line_of(one) +
                       line(one.count, one.final, bucket_of(one.task_id), one.executor_log));
  }
  StoredTable& counts = to["lts_log_count"];
  counts.columns = {"group_id", "slot_us", "state", "final", "ends"};
  for (const auto& [key, ends] : tables.log_counts) {
    const auto& [slot, group, state, final] = key;
    counts.rows.push_back(line(group, slot, state, final, ends));
  }
  StoredTable& feedback = to["lts_feedback_queue"];
  feedback.columns = Columns{"client_group", "feedback_id"} + kEnd;
  for (const auto& [key, one] : tables.feedback)
    feedback.rows.push_back(line(key.first, key.second) + line_of(one));
  StoredTable& alarms = to["lts_alarm"];
  alarms.columns = Columns{"alarm_id", "line", "failures", "recipient", "log_id"} + kEnd;
  for (const auto& [key, one] : tables.alarms) {
    alarms.rows.push_back(
        line(key.first, key.second, one.mark.failures, one.mark.recipient, one.entry.id) +
        line_of(one.entry));
  }
  StoredTable& history = to["lts_alarm_history"];
  history.columns = {"alarm_id", "at_us", "group_id", "rule", "recipient", "state", "message"};
  for (const auto& [id, one] : tables.alarm_history) {
    history.rows.push_back(
        line(id, one.at, one.group, one.rule, one.recipient, one.state, one.message));
  }
  StoredTable& silences = to["lts_silence"];
  silences.columns = {"group_id", "until_us"};
  for (const auto& [id, one] : tables.silences) silences.rows.push_back(line(id, one.until));
  StoredTable& output = to["lts_job_output"];
  output.columns = {"job_id", "attempt", "sequence", "stream", "at_us", "bytes"};
  for (const auto& [key, one] : tables.output) {
    output.rows.push_back(
        line(one.job_id, one.attempt, one.sequence, one.stream, one.at, one.bytes));
  }
}

void add_push(const MemoryTables& tables, StoredTables& to) {
  StoredTable& groups = to["lts_executor_group"];
  groups.columns = {"group_id", "token"};
  for (const auto& [id, one] : tables.executor_groups) groups.rows.push_back(line(id, one.token));
  StoredTable& executors = to["lts_executor"];
  executors.columns = {"group_id",      "address", "manual", "has_trigger",
                       "registered_us", "honest",  "place"};
  for (const auto& [key, one] : tables.executors) {
    executors.rows.push_back(line(one.group, one.address, one.is_manual, one.has_trigger,
                                  one.registered_at, one.reports_busy_state, one.place));
  }
  StoredTable& runs = to["lts_push_run"];
  runs.columns = {"log_id",  "group_id", "job_id",    "attempt", "shard",   "shards",
                  "address", "failures", "called_us", "code",    "message", "taken"};
  for (const auto& [id, one] : tables.push_runs) {
    runs.rows.push_back(line(id, one.group, one.job, one.attempt, one.shard, one.shards,
                             one.address, one.failures, one.called_at, one.code, one.message,
                             one.is_taken));
  }
  StoredTable& routes = to["lts_push_route"];
  routes.columns = {"definition_id", "group_id", "memory"};
  for (const auto& [id, one] : tables.routes)
    routes.rows.push_back(line(id, one.group, one.memory));
  StoredTable& results = to["lts_executor_result"];
  results.columns = {"result_id", "log_id", "code", "message"};
  for (const auto& [id, one] : tables.executor_results)
    results.rows.push_back(line(id, one.log_id, one.code, one.message));
}

std::string text_of(const std::vector<Outcome>& outcomes) {
  std::string text;
  for (const Outcome& one : outcomes) {
    text += cell(one.kind) + ' ' + cell(one.existing_job) + ' ' + cell(one.existing_definition) +
            ' ' + cell(one.count) + ';';
  }
  return text;
}

void add_peers(const MemoryTables& tables, StoredTables& to) {
  StoredTable& groups = to["lts_node_group"];
  groups.columns = {"group_id", "name", "name_lower", "table_name", "served", "created_us"};
  for (const auto& [id, one] : tables.groups) {
    std::string lower = one.name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    groups.rows.push_back(line(id, one.name, lower, one.table, one.served, one.created_at));
  }
  StoredTable& nodes = to["lts_node"];
  nodes.columns = {"session_id", "name",       "group_id",     "address",
                   "threads",    "started_us", "last_seen_us", "alive"};
  for (const auto& [id, one] : tables.nodes) {
    nodes.rows.push_back(line(id, one.name, one.group, one.address, one.threads, one.started_at,
                              one.last_seen, one.alive));
  }
  StoredTable& trackers = to["lts_tracker"];
  trackers.columns = {"session_id",      "lane",  "name",   "batch",   "id_high", "beat_us",
                      "alive_before_us", "ended", "number", "address", "yields",  "lease_us",
                      "log_settled"};
  for (const auto& [connection, one] : tables.trackers) {
    trackers.rows.push_back(line(connection.first, connection.second, one.name, one.batch,
                                 one.id_high, one.heartbeat, one.alive_before, one.has_ended,
                                 one.number, one.address, one.yields, one.lease.count(),
                                 one.log_settled));
  }
  StoredTable& partitions = to["lts_partition"];
  partitions.columns = {"partition_id", "owner", "alive_before_us", "epoch"};
  for (const auto& [id, one] : tables.partitions)
    partitions.rows.push_back(line(id, one.owner, one.alive_before, one.epoch));
  StoredTable& inbox = to["lts_inbox"];
  inbox.columns = {"inbox_id", "group_id", "task_id"};
  for (const auto& [id, one] : tables.inbox) inbox.rows.push_back(line(id, one.group, one.task_id));
  StoredTable& clients = to["lts_client"];
  clients.columns = {"slot", "sequence", "answer", "outcomes", "at_us"};
  for (const auto& [key, one] : tables.answers) {
    clients.rows.push_back(line(key.first * kAnswersKept + key.second, one.sequence, one.answer,
                                text_of(one.outcomes), one.at));
  }
}

// By table and column; true: it holds whole numbers.
using Schema = std::map<std::string, std::map<std::string, bool>>;

Result<Schema> schema_of(sql::Connection& db) {
  constexpr std::string_view kSqlite =
      "SELECT t.name, c.name, c.type = 'INTEGER' FROM sqlite_master t, pragma_table_info(t.name) c "
      "WHERE t.type = 'table'";
  constexpr std::string_view kMysql =
      "SELECT table_name, column_name, data_type LIKE '%int' FROM information_schema.columns "
      "WHERE table_schema = DATABASE()";
  Schema schema;
  CARILLON_TRY(db.query(
      db.dialect() == sql::Dialect::kMysql ? kMysql : kSqlite, {}, [&](const sql::Row& row) {
        schema[std::string{row.bytes(0)}][std::string{row.bytes(1)}] = row.integer(2) != 0;
      }));
  // The index of the log, and which groups have rows, are seen by what a search finds.
  for (const char* table :
       {"lts_schema", "lts_log_slice", "lts_log_key", "lts_log_piece", "lts_waiting_group"})
    schema.erase(table);
  return schema;
}

Result<StoredTable> read_table(sql::Connection& db, const std::string& name,
                               const std::map<std::string, bool>& columns, const Columns& order) {
  StoredTable table{.columns = order};
  // Those that nobody has named are a difference, unless the table is empty.
  for (const auto& [column, is_number] : columns) {
    if (std::find(order.begin(), order.end(), column) == order.end())
      table.columns.push_back(column);
  }
  std::vector<bool> are_numbers;
  std::string select;
  for (const std::string& column : table.columns) {
    const auto found = columns.find(column);
    if (found == columns.end()) return Error{ErrorCode::kNotFound, name + " has no " + column};
    are_numbers.push_back(found->second);
    select += (select.empty() ? "SELECT " : ", ") + column;
  }
  CARILLON_TRY(db.query(select + " FROM " + name, {}, [&](const sql::Row& row) {
    std::string& text = table.rows.emplace_back();
    for (int i = 0; i < static_cast<int>(are_numbers.size()); ++i) {
      if (row.is_null(i)) {
        text += "NULL";
      } else if (are_numbers[static_cast<std::size_t>(i)]) {
        text += std::to_string(row.integer(i));
      } else {
        text += row.bytes(i);
      }
      text += kBetween;
    }
  }));
  std::sort(table.rows.begin(), table.rows.end());
  return table;
}

std::string printable(const std::string& text) {
  std::string shown;
  for (const char c : text.substr(0, kShownOfLine)) {
    const bool is_plain = c >= ' ' && c <= '~';
    shown += c == kBetween ? '|' : is_plain ? c : '?';
  }
  return shown;
}

void show_missing(const char* who, const StoredTable& from, const StoredTable& in,
                  std::string& text) {
  std::vector<std::string> lines;
  std::set_difference(from.rows.begin(), from.rows.end(), in.rows.begin(), in.rows.end(),
                      std::back_inserter(lines));
  if (lines.size() > kLinesShown) lines.resize(kLinesShown);
  for (const std::string& one : lines)
    text += std::string{"\n  only "} + who + ": " + printable(one);
}

}  // namespace

StoredTables rows_in_memory(const MemoryTables& tables) {
  StoredTables stored;
  add_jobs(tables, stored);
  add_definitions(tables, stored);
  add_ends(tables, stored);
  add_audit(tables, stored);
  add_principals(tables, stored);
  add_figures(tables, stored);
  add_push(tables, stored);
  add_peers(tables, stored);
  for (auto& [name, table] : stored) std::sort(table.rows.begin(), table.rows.end());
  return stored;
}

Result<StoredTables> rows_in_sql(sql::Connection& db, const StoredTables& like) {
  StoredTables stored;
  for (const auto& [name, columns] : CARILLON_TRY(schema_of(db))) {
    const auto known = like.find(name);
    stored[name] = CARILLON_TRY(
        read_table(db, name, columns, known == like.end() ? Columns{} : known->second.columns));
  }
  return stored;
}

std::string difference(const StoredTables& memory, const StoredTables& sql) {
  std::set<std::string> names;
  for (const auto& [name, table] : memory) names.insert(name);
  for (const auto& [name, table] : sql) names.insert(name);
  const auto table_of = [](const StoredTables& stored, const std::string& name) {
    const auto found = stored.find(name);
    return found == stored.end() ? StoredTable{} : found->second;
  };
  std::string text;
  for (const std::string& name : names) {
    const StoredTable in_memory = table_of(memory, name);
    const StoredTable in_sql = table_of(sql, name);
    if (in_memory.rows == in_sql.rows) continue;
    text += (text.empty() ? "" : "\n") + name + ":";
    for (const std::string& column : in_sql.columns) text += ' ' + column;
    show_missing("in memory", in_memory, in_sql, text);
    show_missing("in SQL", in_sql, in_memory, text);
  }
  return text;
}

}  // namespace carillon::jobtracker
