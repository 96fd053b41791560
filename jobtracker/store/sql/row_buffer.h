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

// Describes the schedule of a stored spec as text; the program knows the encoding of specs.
using DescribeSpec = std::function<ScheduleText(std::string_view spec)>;

// Collects the rows that a batch inserts, by table, so that each table needs one statement, and the
// task ids that it frees. Reuses its memory.
//
// Added rows must stay in place until the flush.
//
// Thread: its store's.
class RowBuffer {
 public:
  // Clears everything, at the start of a batch.
  void clear();

  void add_waiting(const WaitingJob& job);  // into the table of job.group, which must exist
  void add_executing(const ExecutingJob& job);
  void add_definition(const Definition& definition, const DescribeSpec& describe);
  // The task id of a job in its lookup table; delayed jobs have a separate one.
  void add_key(sql::Dialect dialect, const WaitingJob& job);
  void add_key(sql::Dialect dialect, const Definition& definition);
  void free_key(sql::Dialect dialect, const WaitingJob& job);
  void free_key(sql::Dialect dialect, GroupId group, std::string_view task_id, JobId job,
                bool delayed);
  void add_log(const LogEntry& entry);

  // Keeps a text or row until the flush.
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }
  const LogEntry& keep(LogEntry entry) { return kept_log_.emplace_back(std::move(entry)); }

  // Frees the keys, then inserts everything except log rows and what derives from them: feedback,
  // alarms and counts.
  Status flush(sql::Connection& db, GroupCatalog& groups, WaitingGroups& waiting_groups);
  Status flush_log(sql::Connection& db);
  // Inserts only the feedback.
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
  // Numbers of ends by group, slot, state and finality.
  std::map<std::tuple<GroupId, WallTime, LogState, bool>, std::int64_t> counts_{};
  std::deque<std::string> kept_{};
  std::deque<LogEntry> kept_log_{};
};

}  // namespace carillon::jobtracker
