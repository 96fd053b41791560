#include "jobtracker/store/sql/row_buffer.h"

#include "jobtracker/store/names.h"

namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kInsertCounts =
    "INSERT INTO lts_log_count (group_id, slot_us, state, final, ends) VALUES (?, ?, ?, ?, ?)";
constexpr std::string_view kAddCountMysql = " ON DUPLICATE KEY UPDATE ends = ends + VALUES(ends)";
constexpr std::string_view kAddCountSqlite =
    " ON CONFLICT (group_id, slot_us, state, final) DO UPDATE SET ends = ends + excluded.ends";
constexpr std::string_view kFreedKeyColumns[] = {"group_id", "task_id", "job_id"};

Status insert(sql::Connection& db, std::string_view table, std::string_view columns, int width,
              SqlValues& values) {
  if (values.empty()) return {};
  CARILLON_TRY(
      db.insert_rows(joined({"INSERT INTO ", table, " (", columns, ") VALUES"}), width, values));
  values.clear();
  return {};
}

}  // namespace

void RowBuffer::clear() {
  for (auto& [group, values] : waiting_) values.clear();
  for (SqlValues* values :
       {&delayed_, &executing_, &cron_, &repeat_, &keys_.added, &keys_.freed, &delayed_keys_.added,
        &delayed_keys_.freed, &log_, &feedback_, &alarms_}) {
    values->clear();
  }
  counts_.clear();
  kept_.clear();
  kept_log_.clear();
}

void RowBuffer::add_waiting(const WaitingJob& job) {
  if (job.delayed) {
    append_delayed(delayed_, job);
  } else {
    append_waiting(waiting_[job.group], job);
  }
}

void RowBuffer::add_executing(const ExecutingJob& job) { append_executing(executing_, job); }

void RowBuffer::add_definition(const Definition& definition, const DescribeSpec& describe) {
  auto text = describe ? describe(definition.spec) : ScheduleText{};
  const std::string_view schedule = keep(std::move(text.schedule));
  const std::string_view tz = keep(std::move(text.tz));
  SqlValues& values = definition.kind == ScheduleKind::kCron ? cron_ : repeat_;
  append_definition(values, definition, schedule, tz);
}

void RowBuffer::add_key(sql::Dialect dialect, const WaitingJob& job) {
  SqlValues& added = (job.delayed ? delayed_keys_ : keys_).added;
  added.insert(added.end(), {value_of(job.group), key_of_task(dialect, job.task_id),
                             value_of(job.id), value_of(DefinitionId{})});
}

void RowBuffer::add_key(sql::Dialect dialect, const Definition& definition) {
  keys_.added.insert(keys_.added.end(),
                     {value_of(definition.group), key_of_task(dialect, definition.task_id),
                      value_of(JobId{}), value_of(definition.id)});
}

void RowBuffer::free_key(sql::Dialect dialect, const WaitingJob& job) {
  free_key(dialect, job.group, job.task_id, job.id, job.delayed);
}

void RowBuffer::free_key(sql::Dialect dialect, GroupId group, std::string_view task_id, JobId job,
                         bool delayed) {
  SqlValues& freed = (delayed ? delayed_keys_ : keys_).freed;
  freed.insert(freed.end(), {value_of(group), key_of_task(dialect, task_id), value_of(job)});
}

void RowBuffer::add_log(const LogEntry& entry) {
  std::string storage;
  std::string_view message = storable_message(entry.message, storage);
  if (message.data() == storage.data() && !message.empty()) message = keep(std::move(storage));
  append_log(log_, entry, message);
  if (entry.count != 0)
    counts_[{entry.group, count_slot_of(entry.ended_at), entry.state, entry.final}] += entry.count;
  if (!entry.feedback_to.empty()) append_feedback(feedback_, entry, message);
  for (const AlarmMark& mark : entry.alarms) append_alarm(alarms_, entry, mark, message);
}

Status RowBuffer::flush(sql::Connection& db, GroupCatalog& groups, WaitingGroups& waiting_groups) {
  for (auto& [table, keys] :
       {std::pair{kTaskIdTable, &keys_}, std::pair{kDelayedTaskIdTable, &delayed_keys_}}) {
    if (!keys->freed.empty()) {
      CARILLON_TRY(db.delete_rows(table, kFreedKeyColumns, keys->freed));
      keys->freed.clear();
    }
    CARILLON_TRY(insert(db, table, "group_id, task_id, job_id, definition_id", 4, keys->added));
  }
  CARILLON_TRY(insert(db, kCronTable, kDefinitionColumns, kDefinitionWidth, cron_));
  CARILLON_TRY(insert(db, kRepeatTable, kDefinitionColumns, kDefinitionWidth, repeat_));
  for (auto& [group, values] : waiting_) {
    if (values.empty()) continue;
    CARILLON_TRY(waiting_groups.add(db, group));
    const std::string_view table = CARILLON_TRY(groups.table_of(db, group));
    CARILLON_TRY(insert(db, table, kWaitingColumns, kWaitingWidth, values));
  }
  CARILLON_TRY(insert(db, kDelayedTable, kDelayedColumns, kDelayedWidth, delayed_));
  return insert(db, kExecutingTable, kExecutingColumns, kExecutingWidth, executing_);
}

// In lists of few different lengths, so that few statements are prepared: zero rows fill them up.
Status RowBuffer::flush_counts(sql::Connection& db) {
  constexpr std::size_t kRowsMax = 64;
  const std::string_view add =
      db.dialect() == sql::Dialect::kMysql ? kAddCountMysql : kAddCountSqlite;
  for (auto next = counts_.begin(); next != counts_.end();) {
    SqlValues values;
    std::size_t rows = 0;
    const auto append = [&](const auto& key, std::int64_t ends) {
      const auto& [group, slot, state, final] = key;
      values.insert(values.end(),
                    {value_of(group), value_of(slot), Value::of(static_cast<std::int64_t>(state)),
                     value_of(final), Value::of(ends)});
      ++rows;
    };
    for (; next != counts_.end() && rows < kRowsMax; ++next) append(next->first, next->second);
    while ((rows & (rows - 1)) != 0) append(std::prev(next)->first, 0);
    std::string statement{kInsertCounts};
    for (std::size_t i = 1; i < rows; ++i) statement += ", (?, ?, ?, ?, ?)";
    CARILLON_TRY(db.execute(statement.append(add), values));
  }
  counts_.clear();
  return {};
}

Status RowBuffer::flush_feedback(sql::Connection& db) {
  return insert(db, kFeedbackTable, kFeedbackColumns, kFeedbackWidth, feedback_);
}

Status RowBuffer::flush_log(sql::Connection& db) {
  CARILLON_TRY(flush_counts(db));
  CARILLON_TRY(insert(db, "lts_job_log", kLogColumns, kLogWidth, log_));
  CARILLON_TRY(flush_feedback(db));
  if (alarms_.empty()) return {};
  CARILLON_TRY(
      db.insert_rows(joined({"REPLACE INTO ", kAlarmTable, " (", kAlarmColumns, ") VALUES"}),
                     kAlarmWidth, alarms_));
  alarms_.clear();
  return {};
}

}  // namespace carillon::jobtracker
