#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "jobtracker/store/batch.h"
#include "jobtracker/store/rows.h"
#include "jobtracker/store/session_plan.h"

// The tables of the memory store: containers with the orders that the reads need.
namespace carillon::jobtracker {

// Waiting jobs of one group, or all delayed ones. Invariant: the orders contain exactly the jobs of
// jobs_.
class WaitingTable {
 public:
  std::size_t size() const { return jobs_.size(); }
  const WaitingJob* find(JobId id) const;
  // Requires: no job with this id is in the table.
  void insert(const WaitingJob& job);
  // Requires: the job is in the table.
  void erase(JobId id);

  // In dispatch order, after `after`, due at `now`.
  std::vector<WaitingJob> due(WallTime now, const std::optional<HandOutKey>& after,
                              std::int64_t limit) const;
  // By (due time, id), after this key, not later than `through`.
  std::vector<WaitingJob> upcoming(WallTime after_time, JobId after_id, WallTime through,
                                   std::int64_t limit) const;
  std::vector<WaitingJob> of_definition(DefinitionId definition, std::int64_t limit) const;
  // The newest that were never tried, with smaller ids than `before`.
  std::vector<WaitingJob> untried_of_definition(DefinitionId definition, JobId before,
                                                std::int64_t limit) const;
  std::int64_t count_due(WallTime now) const;
  // The earliest due time; epoch: the table is empty.
  WallTime first_time() const { return times_.empty() ? WallTime{} : times_.begin()->first; }
  const std::map<JobId, WaitingJob>& all() const { return jobs_; }

 private:
  std::map<JobId, WaitingJob> jobs_{};
  std::set<HandOutKey> order_{};
  std::set<DueKey> times_{};
  std::set<std::tuple<DefinitionId, std::int32_t, JobId>> definitions_{};  // without one-shots
};

struct KeyHolder {
  JobId job{};
  DefinitionId definition{};
};

struct StoredAnswer {
  std::int64_t sequence = 0;
  std::string answer{};
  std::vector<Outcome> outcomes{};
  WallTime at{};
};

struct TrackerRow {
  std::string name{};
  std::int64_t batch = 0;
  std::int64_t id_high = 0;
  WallTime heartbeat{};
  WallTime alive_before{};  // StartAnswer::last_alive; epoch once the session has recovered
  bool has_ended = false;
  std::int32_t number = 0;
  std::string address{};
  bool yields = false;
  Duration lease{};
  std::int64_t log_settled = 0;
};

struct MemoryTables {
  // Case-insensitive; null: it does not exist.
  const Group* group(const std::string& name) const;

  std::map<GroupId, Group> groups{};
  std::map<GroupId, WaitingTable> waiting{};
  WaitingTable delayed{};
  std::map<JobId, ExecutingJob> executing{};
  std::map<DefinitionId, Definition> definitions{};
  DefinitionId definition_high{};
  std::map<std::pair<DefinitionId, std::int64_t>, ScriptVersion> scripts{};  // by version
  std::map<std::pair<GroupId, std::string>, KeyHolder> keys{};
  std::map<std::int64_t, LogEntry> log{};
  // The state of the log's index; the memory store searches the log itself.
  struct LogIndex {
    std::int64_t through = 0;     // the id of the last row
    std::int64_t slice_rows = 0;  // of the newest slice
  };
  LogIndex log_index{};
  // By slot, group, state and finality.
  std::map<std::tuple<WallTime, GroupId, LogState, bool>, std::int64_t> log_counts{};
  std::map<std::int64_t, AuditRow> audit{};
  std::map<std::pair<std::string, std::string>, PrincipalRow> principals{};  // kind, name
  std::map<FiguresKey, FiguresRow> figures{};
  std::map<std::int64_t, InboxRow> inbox{};
  std::map<GroupId, ExecutorGroup> executor_groups{};
  std::map<std::pair<GroupId, std::string>, ExecutorRow> executors{};
  std::map<std::int64_t, PushRun> push_runs{};  // by log id
  std::map<DefinitionId, RouteRow> routes{};
  std::map<std::int64_t, ExecutorResult> executor_results{};
  std::map<std::pair<std::string, std::int64_t>, LogEntry> feedback{};  // client group, log id
  std::map<std::pair<std::int64_t, std::int32_t>, AlarmRow> alarms{};   // alarm, line
  std::map<std::int64_t, AlarmHistoryRow> alarm_history{};
  std::map<GroupId, SilenceRow> silences{};
  std::map<std::tuple<JobId, std::int32_t, std::int64_t>, OutputRow> output{};
  std::map<SessionId, NodeRow> nodes{};
  std::map<std::pair<std::int64_t, std::int64_t>, StoredAnswer> answers{};  // client, slot
  std::map<std::pair<SessionId, std::int32_t>, TrackerRow> trackers{};      // session, connection
  PartitionNotes partitions{};
};

}  // namespace carillon::jobtracker
