#include "jobtracker/store/sql/sql_reads.h"

// What the loop asks of the push side.
namespace carillon::jobtracker {

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
  CARILLON_TRY(db_.query(joined({"SELECT ", kExecutorResultColumns, " FROM ", kExecutorResultTable,
                                 " ORDER BY result_id"}),
                         {}, [&](const sql::Row& row) {
                           const ExecutorResult result = executor_result_of(row);
                           const auto partition = partition_of_log_id(result.log_id);
                           const bool is_full =
                               static_cast<std::int64_t>(answer.rows.size()) >= ask.limit;
                           if (is_full || !owned_.test(static_cast<std::size_t>(partition))) return;
                           answer.rows.push_back(result);
                         }));
  return ReadAnswer{std::move(answer)};
}

}  // namespace carillon::jobtracker
