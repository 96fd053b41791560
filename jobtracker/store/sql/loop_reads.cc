#include <algorithm>

#include "jobtracker/store/names.h"
#include "jobtracker/store/sql/batch_writer.h"
#include "jobtracker/store/sql/sql_reads.h"
#include "jobtracker/store/sql/sql_rows.h"
#include "jobtracker/store/sql/waiting_groups.h"
#include "jobtracker/store/sql/waiting_scan.h"

// The reads for the loop.
namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kWhereDelayed = " WHERE suspended = 0 AND trigger_time_us <= ? ";
constexpr std::string_view kOwned = "AND group_id % 64 IN ";
constexpr std::string_view kFirstDelayed = " ORDER BY trigger_time_us, job_id LIMIT ?";
constexpr std::string_view kSelectHolder = "SELECT group_id, job_id, definition_id FROM ";
constexpr std::string_view kOfTask = " WHERE task_id = ? AND group_id IN ";
constexpr std::string_view kOfDefinition =
    " WHERE definition_id = ? ORDER BY attempt DESC, job_id DESC LIMIT ?";
constexpr std::string_view kUntriedOfDefinition =
    " WHERE definition_id = ? AND attempt = 0 AND job_id < ? ORDER BY job_id DESC LIMIT ?";
constexpr std::string_view kCountFeedback =
    "SELECT client_group, COUNT(*) FROM lts_feedback_queue GROUP BY client_group "
    "ORDER BY client_group";
constexpr std::string_view kOldestFeedback = " WHERE client_group = ? ORDER BY feedback_id LIMIT ?";
constexpr std::string_view kSelectInbox =
    "SELECT inbox_id, group_id, task_id FROM lts_inbox ORDER BY inbox_id";
constexpr std::string_view kOfJob = " WHERE job_id = ?";
constexpr std::string_view kSelectNow =
    "SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) AS now_us";

std::int64_t size_of(const std::vector<WaitingJob>& jobs) {
  return static_cast<std::int64_t>(jobs.size());
}

std::string select_from(std::string_view columns, std::string_view table,
                        std::string_view condition) {
  return joined({"SELECT ", columns, " FROM ", table, condition});
}

bool by_time(const WaitingJob& a, const WaitingJob& b) { return due_key(a) < due_key(b); }

}  // namespace

Result<ReadAnswer> SqlReads::answer(const Read& question) {
  return std::visit([this](const auto& ask) { return read(ask); }, question);
}

Result<ReadAnswer> SqlReads::read(const ReadClock&) {
  ClockAnswer answer;
  if (db_.dialect() == sql::Dialect::kMysql) {
    CARILLON_TRY(db_.query(kSelectNow, {},
                           [&](const sql::Row& row) { answer.shows = wall_time(row.integer(0)); }));
  }
  return ReadAnswer{answer};
}

Result<std::vector<WaitingJob>> SqlReads::due(GroupId group, WallTime now,
                                              const std::optional<HandOutKey>& after,
                                              std::int64_t limit) {
  std::vector<WaitingJob> jobs;
  const int first = after ? std::get<0>(*after) : kLowestPriority;
  const auto table = CARILLON_TRY(groups_.table_of(db_, group));
  WaitingScan scan{db_, table, group};
  const auto visit = [&](int priority, WallTime earliest) -> Result<bool> {
    if (size_of(jobs) >= limit) return false;
    if (earliest > now) return true;
    const bool goes_on = after && priority == first;
    CARILLON_TRY(scan.read(priority, goes_on ? std::get<1>(*after) : WallTime::min(),
                           goes_on ? std::get<2>(*after) : JobId{}, now, limit - size_of(jobs),
                           jobs));
    return true;
  };
  CARILLON_TRY(scan.each_priority(first, visit));
  return jobs;
}

Result<ReadAnswer> SqlReads::read(const ReadDue& ask) {
  auto jobs = CARILLON_TRY(due(ask.group, ask.now, ask.after, ask.limit));
  return ReadAnswer{JobsAnswer{std::move(jobs)}};
}

Result<ReadAnswer> SqlReads::read(const ReadUpcoming& ask) {
  std::vector<WaitingJob> jobs;
  WallTime through = ask.through;
  const auto table = CARILLON_TRY(groups_.table_of(db_, ask.group));
  WaitingScan scan{db_, table, ask.group};
  const auto visit = [&](int priority, WallTime earliest) -> Result<bool> {
    if (earliest > through) return true;
    CARILLON_TRY(scan.read(priority, ask.after_time, ask.after_id, through, ask.limit, jobs));
    if (size_of(jobs) <= ask.limit) return true;
    // The best rows over all priorities; rows later than the last one need not be read.
    std::sort(jobs.begin(), jobs.end(), by_time);
    jobs.resize(static_cast<std::size_t>(ask.limit));
    if (!jobs.empty()) through = std::min(through, due_time(jobs.back()));
    return ask.limit > 0;
  };
  CARILLON_TRY(scan.each_priority(kLowestPriority, visit));
  std::sort(jobs.begin(), jobs.end(), by_time);
  return ReadAnswer{JobsAnswer{std::move(jobs)}};
}

Result<ReadAnswer> SqlReads::read(const ReadDelayed& ask) {
  JobsAnswer answer;
  SqlValues partitions;
  for (std::int32_t one = 0; one < kPartitions && !owned_.all(); ++one) {
    if (owned_.test(static_cast<std::size_t>(one))) partitions.push_back(Value::of(one));
  }
  const auto visit = [&](const sql::Row& row) { answer.jobs.push_back(delayed_of(row)); };
  const auto read_of = [&](std::string_view owned, std::span<const Value> chunk) {
    SqlValues values{value_of(ask.through)};
    values.insert(values.end(), chunk.begin(), chunk.end());
    values.push_back(Value::of(ask.limit));
    return db_.query(joined({"SELECT ", kDelayedColumns, " FROM ", kDelayedTable, kWhereDelayed,
                             owned, kFirstDelayed}),
                     values, visit);
  };
  if (owned_.all()) {
    CARILLON_TRY(read_of({}, {}));
  } else {
    CARILLON_TRY(in_lists(partitions, [&](std::string_view list, std::span<const Value> chunk) {
      return read_of(joined({kOwned, list}), chunk);
    }));
  }
  return ReadAnswer{std::move(answer)};
}

Status SqlReads::find_job(JobId job, GroupId group, FindAnswer& answer) {
  const SqlValues id{value_of(job)};
  const auto fits = [&](GroupId owner) { return !group || owner == group; };
  CARILLON_TRY(db_.query(select_from(kExecutingColumns, kExecutingTable, kOfJob), id,
                         [&](const sql::Row& row) {
                           auto found = executing_of(row);
                           if (fits(found.job.group)) answer.executing = std::move(found);
                         }));
  if (answer.executing) return {};
  CARILLON_TRY(
      db_.query(select_from(kDelayedColumns, kDelayedTable, kOfJob), id, [&](const sql::Row& row) {
        auto found = delayed_of(row);
        if (!fits(found.group)) return;
        answer.waiting = std::move(found);
      }));
  if (answer.waiting) return {};
  std::vector<GroupId> owners{group};
  if (!group) owners = CARILLON_TRY(read_waiting_groups(db_));
  for (const GroupId owner : owners) {
    const std::string_view table = CARILLON_TRY(groups_.table_of(db_, owner));
    CARILLON_TRY(db_.query(select_from(kWaitingColumns, table, kOfJob), id,
                           [&](const sql::Row& row) { answer.waiting = waiting_of(row, owner); }));
    if (answer.waiting) break;
  }
  return {};
}

Status SqlReads::each_holder(
    GroupId group, std::string_view task_id,
    const std::function<void(GroupId group, JobId job, DefinitionId definition)>& each) {
  SqlValues owners{value_of(group)};
  if (!group) {
    owners.clear();
    for (const Group& one : CARILLON_TRY(groups_.read_all(db_))) owners.push_back(value_of(one.id));
  }
  for (const std::string_view table : {kTaskIdTable, kDelayedTaskIdTable}) {
    CARILLON_TRY(in_lists(owners, [&](std::string_view list, std::span<const Value> chunk) {
      SqlValues values{key_of_task(db_.dialect(), task_id)};
      values.insert(values.end(), chunk.begin(), chunk.end());
      return db_.query(
          joined({kSelectHolder, table, kOfTask, list}), values, [&](const sql::Row& row) {
            each(GroupId{static_cast<std::int32_t>(row.integer(0))}, JobId{row.integer(1)},
                 DefinitionId{static_cast<std::int32_t>(row.integer(2))});
          });
    }));
  }
  return {};
}

Result<ReadAnswer> SqlReads::read(const Find& ask) {
  FindAnswer answer;
  if (ask.group) CARILLON_TRY(groups_.table_of(db_, ask.group));
  if (ask.task_id.empty()) {
    CARILLON_TRY(find_job(ask.job_id, ask.group, answer));
    return ReadAnswer{std::move(answer)};
  }
  GroupId holder_group{};
  JobId holder{};
  CARILLON_TRY(
      each_holder(ask.group, ask.task_id, [&](GroupId group, JobId job, DefinitionId definition) {
        if (holder_group && holder_group < group) return;
        holder_group = group;
        holder = job;
        answer.definition = definition;
      }));
  if (holder) CARILLON_TRY(find_job(holder, holder_group, answer));
  if (holder_group) return ReadAnswer{std::move(answer)};

  if (const auto job = job_of_task_id(ask.task_id)) {
    CARILLON_TRY(find_job(*job, ask.group, answer));
    // The job of that number may have a task id of its own.
    if (answer.waiting && answer.waiting->task_id != ask.task_id) answer = {};
    if (answer.executing && answer.executing->job.task_id != ask.task_id) answer = {};
  }
  return ReadAnswer{std::move(answer)};
}

Result<ReadAnswer> SqlReads::read(const ReadDefinition& ask) {
  DefinitionAnswer answer;
  const ReadAnswer holder = CARILLON_TRY(read(Find{.group = ask.group, .task_id = ask.task_id}));
  const DefinitionId id = std::get<FindAnswer>(holder).definition;
  for (const std::string_view table : {kCronTable, kRepeatTable}) {
    if (!id) break;
    CARILLON_TRY(db_.query(select_from(kDefinitionColumns, table, " WHERE definition_id = ?"),
                           SqlValues{value_of(id)},
                           [&](const sql::Row& row) { answer.definition = definition_of(row); }));
  }
  return ReadAnswer{std::move(answer)};
}

Result<ReadAnswer> SqlReads::read(const ReadOccurrences& ask) {
  JobsAnswer answer;
  const std::string_view table = CARILLON_TRY(groups_.table_of(db_, ask.group));
  if (ask.untried_before) return read_untried(ask, table);
  const auto parameters = [&](std::int64_t limit) {
    return SqlValues{value_of(ask.definition), Value::of(limit)};
  };
  CARILLON_TRY(
      db_.query(select_from(kWaitingColumns, table, kOfDefinition), parameters(ask.limit),
                [&](const sql::Row& row) { answer.jobs.push_back(waiting_of(row, ask.group)); }));
  CARILLON_TRY(db_.query(select_from(kDelayedColumns, kDelayedTable, kOfDefinition),
                         parameters(ask.limit - size_of(answer.jobs)),
                         [&](const sql::Row& row) { answer.jobs.push_back(delayed_of(row)); }));
  return ReadAnswer{std::move(answer)};
}

// The newest rows of both tables.
Result<ReadAnswer> SqlReads::read_untried(const ReadOccurrences& ask, std::string_view table) {
  JobsAnswer answer;
  const SqlValues parameters{value_of(ask.definition), value_of(*ask.untried_before),
                             Value::of(ask.limit)};
  CARILLON_TRY(
      db_.query(select_from(kWaitingColumns, table, kUntriedOfDefinition), parameters,
                [&](const sql::Row& row) { answer.jobs.push_back(waiting_of(row, ask.group)); }));
  const auto from_delayed = size_of(answer.jobs);
  CARILLON_TRY(db_.query(select_from(kDelayedColumns, kDelayedTable, kUntriedOfDefinition),
                         parameters,
                         [&](const sql::Row& row) { answer.jobs.push_back(delayed_of(row)); }));
  std::inplace_merge(answer.jobs.begin(), answer.jobs.begin() + from_delayed, answer.jobs.end(),
                     [](const WaitingJob& a, const WaitingJob& b) { return a.id > b.id; });
  answer.jobs.resize(std::min(answer.jobs.size(), static_cast<std::size_t>(ask.limit)));
  return ReadAnswer{std::move(answer)};
}

Result<ReadAnswer> SqlReads::read(const ReadFeedback& ask) {
  FeedbackAnswer answer;
  CARILLON_TRY(db_.query(select_from(kFeedbackColumns, kFeedbackTable, kOldestFeedback),
                         SqlValues{Value::of_text(ask.client_group), Value::of(ask.limit)},
                         [&](const sql::Row& row) { answer.entries.push_back(feedback_of(row)); }));
  return ReadAnswer{std::move(answer)};
}

Result<FeedbackCounts> SqlReads::feedback_counts() {
  FeedbackCounts counts;
  CARILLON_TRY(db_.query(kCountFeedback, {}, [&](const sql::Row& row) {
    counts.rows.emplace_back(std::string{row.bytes(0)}, row.integer(1));
  }));
  return counts;
}

Result<ReadAnswer> SqlReads::read(const CountFeedback&) {
  auto counts = CARILLON_TRY(feedback_counts());
  return ReadAnswer{std::move(counts)};
}

Result<ReadAnswer> SqlReads::read(const ReadInbox& ask) {
  InboxAnswer answer;
  CARILLON_TRY(db_.query(kSelectInbox, {}, [&](const sql::Row& row) {
    const GroupId group{static_cast<std::int32_t>(row.integer(1))};
    const bool is_full = static_cast<std::int64_t>(answer.rows.size()) >= ask.limit;
    if (is_full || !has_group(owned_, group)) return;
    answer.rows.push_back(
        {.id = row.integer(0), .group = group, .task_id = std::string{row.bytes(2)}});
  }));
  return ReadAnswer{std::move(answer)};
}

Result<ReadAnswer> SqlReads::read(const FindGroup& ask) {
  auto group = CARILLON_TRY(groups_.find(db_, ask.name));
  return ReadAnswer{GroupAnswer{std::move(group)}};
}

Result<ReadAnswer> SqlReads::read(const SplitGroup&) {
  return Error{ErrorCode::kInvalidArgument, "a read-only store cannot split groups"};
}

Result<ReadAnswer> SqlReads::read(const MakeGroup&) {
  return Error{ErrorCode::kInvalidArgument, "a read-only store cannot create groups"};
}

}  // namespace carillon::jobtracker
