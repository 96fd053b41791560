#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "jobtracker/store/sql/group_catalog.h"
#include "jobtracker/store/sql/sql_rows.h"
#include "jobtracker/store/sql/waiting_groups.h"
#include "shared/sql/sql_connection.h"

namespace carillon::jobtracker {

// Puts a stored spec's schedule into words; the program knows how specs are encoded.
using DescribeSpec = std::function<ScheduleText(std::string_view spec)>;

// Rows that a batch is going to insert, gathered by table so that each table takes one statement,
// and the task ids that it frees. Keeps its memory from batch to batch.
//
// The rows given must stay where they are until they are flushed.
//
// Thread: its store's.
class RowBuffer {
 public:
  // Forgets everything, as at the start of a batch.
  void clear();

  void add_waiting(const WaitingJob& job);  // of job.group, which must exist
  void add_executing(const ExecutingJob& job);
  void add_definition(const Definition& definition, const DescribeSpec& describe);
  // The task id of a job stands beside it: in a table of its own for delayed ones.
  void add_key(sql::Dialect dialect, const WaitingJob& job);
  void add_key(sql::Dialect dialect, const Definition& definition);
  void free_key(sql::Dialect dialect, const WaitingJob& job);
  void free_key(sql::Dialect dialect, GroupId group, std::string_view task_id, JobId job,
                bool delayed);
  void add_log(const LogEntry& entry);

  // A text or row that must stay until the flush.
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }
  const LogEntry& keep(LogEntry entry) { return kept_log_.emplace_back(std::move(entry)); }

  // Frees the keys, then inserts everything but log rows, and what is made of them: feedback,
  // alarms and counts.
  Status flush(sql::Connection& db, GroupCatalog& groups, WaitingGroups& waiting_groups);
  Status flush_log(sql::Connection& db);
  // Only the feedback.
  Status flush_feedback(sql::Connection& db);

 private:
  Status flush_counts(sql::Connection& db);

  struct Keys {
    SqlValues added{};
    SqlValues freed{};
  };

  std::map<GroupId, SqlValues> waiting_{};
  SqlValues delayed_{};
  SqlValues executing_{};
  SqlValues cron_{};
  SqlValues repeat_{};
  Keys keys_{};
  Keys delayed_keys_{};
  SqlValues log_{};
  SqlValues feedback_{};
  SqlValues alarms_{};
  // Ends by group, slot, state and finality.
  std::map<std::tuple<GroupId, WallTime, LogState, bool>, std::int64_t> counts_{};
  std::deque<std::string> kept_{};
  std::deque<LogEntry> kept_log_{};
};

}  // namespace carillon::jobtracker
