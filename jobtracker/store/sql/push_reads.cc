#include "jobtracker/store/sql/sql_reads.h"

// The loop's reads of the push tables.
namespace carillon::jobtracker {
namespace {

constexpr std::string_view kResultsBehind = " WHERE result_id > ? ORDER BY result_id LIMIT ?";

}  // namespace

Status SqlReads::read_executors(std::vector<ExecutorGroup>& groups,
                                std::vector<ExecutorRow>& executors) {
  CARILLON_TRY(
      read_all(kExecutorGroupColumns, kExecutorGroupTable, "group_id", &executor_group_of, groups));
  return read_all(kExecutorColumns, kExecutorTable, "group_id, address", &executor_of, executors);
}

Result<ReadAnswer> SqlReads::read(const ReadExecutors&) {
  ExecutorsAnswer answer;
  CARILLON_TRY(read_executors(answer.groups, answer.executors));
  return ReadAnswer{std::move(answer)};
}

Result<ReadAnswer> SqlReads::read(const ReadExecutorResults& ask) {
  ExecutorResultsAnswer answer;
  std::int64_t left = ask.limit;
  CARILLON_TRY(db_.query(
      joined({"SELECT ", kExecutorResultColumns, " FROM ", kExecutorResultTable, kResultsBehind}),
      SqlValues{sql::Value::of(ask.after), sql::Value::of(ask.limit)}, [&](const sql::Row& row) {
        ExecutorResult result = executor_result_of(row);
        if (--left == 0) answer.next = result.id;
        const auto partition = partition_of_log_id(result.log_id);
        if (!owned_.test(static_cast<std::size_t>(partition))) return;
        answer.rows.push_back(std::move(result));
      }));
  return ReadAnswer{std::move(answer)};
}

}  // namespace carillon::jobtracker
