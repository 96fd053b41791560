#pragma once

#include <map>

#include "jobtracker/store/reads.h"
#include "jobtracker/store/sql/group_catalog.h"
#include "jobtracker/store/sql/sql_rows.h"
#include "shared/sql/sql_connection.h"

namespace carillon::jobtracker {

// The reads of the store interface, on one connection. loop_reads.cc, start_reads.cc and
// push_reads.cc have those for the loop, people_reads.cc those for clients.
//
// Errors: kNotFound for a missing group, others from the connection.
//
// Thread: the connection's.
class SqlReads {
 public:
  // `owned`: reads for the loop cover the groups of these partitions.
  SqlReads(sql::Connection& db, GroupCatalog& groups, Partitions owned = all_partitions())
      : db_(db), groups_(groups), owned_(owned) {}

  Result<ReadAnswer> answer(const Read& question);

 private:
  Result<ReadAnswer> read(const ReadStart& ask);  // without the session's own data
  Result<ReadAnswer> read(const ReadClock& ask);  // what it shows, no more
  Result<ReadAnswer> read(const ReadDue& ask);
  Result<ReadAnswer> read(const ReadUpcoming& ask);
  Result<ReadAnswer> read(const ReadDelayed& ask);
  Result<ReadAnswer> read(const Find& ask);
  Result<ReadAnswer> read(const ReadDefinition& ask);
  Result<ReadAnswer> read(const ReadOccurrences& ask);
  Result<ReadAnswer> read_untried(const ReadOccurrences& ask, std::string_view table);
  Result<ReadAnswer> read(const ReadFeedback& ask);
  Result<ReadAnswer> read(const ReadInbox& ask);
  Result<ReadAnswer> read(const ReadExecutors& ask);
  Result<ReadAnswer> read(const ReadExecutorResults& ask);
  Result<ReadAnswer> read(const FindGroup& ask);
  Result<ReadAnswer> read(const MakeGroup& ask);
  Result<ReadAnswer> read(const SplitGroup& ask);  // an error: it is not a read
  Result<ReadAnswer> read(const ListWaiting& ask);
  Result<ReadAnswer> read(const ListDefinitions& ask);
  Result<ReadAnswer> read(const ListExecuting& ask);
  Result<ReadAnswer> read(const ListHistory& ask);
  Result<ReadAnswer> read(const ListOutput& ask);
  Result<ReadAnswer> read(const CountWaiting& ask);
  Result<ReadAnswer> read(const CountLog& ask);
  Result<ReadAnswer> read(const ListScripts& ask);
  Result<ReadAnswer> read(const ListAudit& ask);
  Result<ReadAnswer> read(const ListPrincipals& ask);
  Result<ReadAnswer> read(const ListFigures& ask);
  Result<ReadAnswer> read(const ListAlarmHistory& ask);
  Result<ReadAnswer> read(const ListSilences& ask);
  Result<ReadAnswer> read(const CountFeedback& ask);
  Result<ReadAnswer> read(const ListNodes& ask);

  Result<std::vector<WaitingJob>> due(GroupId group, WallTime now,
                                      const std::optional<HandOutKey>& after, std::int64_t limit);
  // All rows of a table, in key order.
  template <class Row>
  Status read_all(std::string_view columns, std::string_view table, std::string_view key,
                  Row (*row_of)(const sql::Row&), std::vector<Row>& rows) {
    return db_.query(joined({"SELECT ", columns, " FROM ", table, " ORDER BY ", key}), {},
                     [&](const sql::Row& row) { rows.push_back(row_of(row)); });
  }
  Result<std::vector<SilenceRow>> silences();
  Status read_executors(std::vector<ExecutorGroup>& groups, std::vector<ExecutorRow>& executors);
  Result<std::vector<Definition>> definitions(const ReadStart& ask,
                                              const std::vector<Group>& groups);
  Result<std::vector<WaitingJob>> retries(const ReadStart& ask,
                                          const std::vector<Definition>& definitions);
  Result<std::map<GroupId, SqlValues>> tried_definitions(const ReadStart& ask,
                                                         const std::map<GroupId, SqlValues>& read);
  Status delayed_retries(std::vector<WaitingJob>& found);
  Result<FeedbackCounts> feedback_counts();
  // The holders of a task id, in the group or (0) in all.
  Status each_holder(
      GroupId group, std::string_view task_id,
      const std::function<void(GroupId group, JobId job, DefinitionId definition)>& each);
  // In the group or (0) in all.
  Status find_job(JobId job, GroupId group, FindAnswer& answer);
  Status add_of_later_groups(const ListWaiting& ask, std::vector<WaitingJob>& jobs);
  // At most `ask.limit`, in order.
  Result<std::vector<DefinitionId>> definition_ids(const ListDefinitions& ask);
  Result<CountAnswer::PerGroup> count(GroupId group, const CountWaiting& ask);

  sql::Connection& db_;
  GroupCatalog& groups_;
  const Partitions owned_;
};

}  // namespace carillon::jobtracker
