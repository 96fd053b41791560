#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "jobtracker/store/alarm_rows.h"
#include "jobtracker/store/group_split.h"
#include "jobtracker/store/partitions.h"
#include "jobtracker/store/push_rows.h"
#include "jobtracker/store/rows.h"

// Reads of the store, for the loop and for clients. Each answer has a limit.
namespace carillon::jobtracker {

// ---- for the loop: on the store connection, after all earlier batches ----

// The time of the shared store.
struct ReadClock {};
struct ClockAnswer {
  std::optional<WallTime> shows{};  // none: the store is not shared; this machine's clock is used
  SteadyTime at{};                  // steady time of this process at the reading
  Duration took{};                  // duration of the request: the reading's error bound
};

// All groups; for owned ones all definitions, executing jobs, waiting retries, the amount of
// waiting feedback, and data of earlier sessions.
struct ReadStart {
  // The previous session of the same process passed its state of these partitions: of their
  // definitions, and their retries, only the listed ones are read.
  Partitions known{};
  std::vector<DefinitionId> unsettled{};
};
struct StartAnswer {
  std::vector<Group> groups{};
  std::vector<Definition> definitions{};
  std::vector<ExecutingJob> executing{};
  std::vector<WaitingJob> retries{};  // of definitions: waiting, and claimed before
  std::int64_t id_high = 0;           // the highest id ever assigned
  std::vector<std::pair<std::string, std::int64_t>> feedback{};  // client groups, with rows each
  DefinitionId definition_high{};  // the highest id of a definition that was ever stored
  // The last commit of an earlier session that had handled its missed fires; epoch: never.
  WallTime last_alive{};
  // The same for partitions with another time.
  std::map<std::int32_t, WallTime> last_alive_of{};
  std::map<std::int32_t, std::int64_t> epochs{};  // of the owned partitions
  Partitions owned = all_partitions();            // all other data of groups is of these
  // The number that distinguishes this session from others on the store; none: there can be no
  // others.
  std::optional<std::int32_t> number{};
  // The longest lease that may be valid: of this session and of all earlier ones.
  Duration lease{};
  ClockAnswer clock{};
  std::vector<ExecutorGroup> executor_groups{};  // of all groups, like the next member
  std::vector<ExecutorRow> executors{};
  std::vector<PushRun> push_runs{};
  std::vector<RouteRow> routes{};
  std::vector<AlarmRow> alarms{};      // by alarm and line
  std::vector<SilenceRow> silences{};  // by group, of all groups
};

// The best waiting jobs of a group that are due at `now`, in dispatch order, after `after`.
struct ReadDue {
  GroupId group{};
  WallTime now{};
  std::optional<HandOutKey> after{};
  std::int64_t limit = 0;
};
// The next jobs to become due, by (due time, id), after `after`, not later than `through`.
struct ReadUpcoming {
  GroupId group{};
  WallTime after_time{};
  JobId after_id{};
  WallTime through{};
  std::int64_t limit = 0;
};
// Delayed jobs, not suspended, due not later than `through`, by (due time, id).
struct ReadDelayed {
  WallTime through{};
  std::int64_t limit = 0;
};
struct JobsAnswer {
  std::vector<WaitingJob> jobs{};
};

// The holder of a task id (of a job id, if task_id is empty; `group` 0 searches all).
struct Find {
  GroupId group{};
  std::string task_id{};
  JobId job_id{};
};
struct FindAnswer {
  DefinitionId definition{};
  std::optional<WaitingJob> waiting{};
  std::optional<ExecutingJob> executing{};
};

// Also for groups that other job trackers own.
struct ReadDefinition {
  GroupId group{};
  std::string task_id{};
};
struct DefinitionAnswer {
  std::optional<Definition> definition{};
};

// Waiting jobs of a definition, at most `limit`, retries first.
struct ReadOccurrences {
  DefinitionId definition{};
  GroupId group{};
  std::int64_t limit = 0;
  // Only those never tried, with smaller ids than this: a page of them.
  std::optional<JobId> untried_before{};
};

// The oldest feedback of a client group.
struct ReadFeedback {
  std::string client_group{};
  std::int64_t limit = 0;
};
struct FeedbackAnswer {
  std::vector<LogEntry> entries{};
};

// Inbox rows for this job tracker, oldest first.
struct ReadInbox {
  std::int64_t limit = 0;
};
struct InboxAnswer {
  std::vector<InboxRow> rows{};
};

// All of them, current.
struct ReadExecutors {};
struct ExecutorsAnswer {
  std::vector<ExecutorGroup> groups{};
  std::vector<ExecutorRow> executors{};
};

// Results for this job tracker, oldest first, among the `limit` rows after `after`.
struct ReadExecutorResults {
  std::int64_t after = 0;  // an id
  std::int64_t limit = 0;
};
struct ExecutorResultsAnswer {
  std::vector<ExecutorResult> rows{};
  std::int64_t next = 0;  // continue after this one; 0: complete
  bool operator==(const ExecutorResultsAnswer&) const = default;
};

// The group with this name, case-insensitive. Error: kNotFound.
struct FindGroup {
  std::string name{};
};
// Creates the group and its table if it does not exist; outside a transaction.
struct MakeGroup {
  std::string name{};
};
// Splits a group, before any other read. Answers with the group itself.
struct SplitGroup {
  GroupSplit split{};
};
struct GroupAnswer {
  Group group{};
};

// ---- for clients: on a read-only connection ----

struct ListWaiting {
  GroupId group{};                // delayed jobs of it as well
  bool delayed = false;           // the delayed table instead of the group's
  bool and_later_groups = false;  // then those of the tables of groups with higher ids
  std::optional<HandOutKey> after{};
  std::int64_t limit = 0;
};
struct ListExecuting {
  std::vector<GroupId> groups{};  // none: all
  JobId after{};
  std::int64_t limit = 0;
};
// By id. Also for groups that other job trackers own.
struct ListDefinitions {
  std::vector<GroupId> groups{};  // none: all
  std::string task_id{};          // empty: all
  DefinitionId after{};
  std::int64_t limit = 0;
};
struct DefinitionsAnswer {
  std::vector<Definition> definitions{};
  DefinitionId next{};  // continue after this one; 0: complete
};
struct ExecutingAnswer {
  std::vector<ExecutingJob> jobs{};
};
// Newest first.
struct ListHistory {
  std::vector<GroupId> groups{};   // none: all
  std::string task_id{};           // empty: all
  JobId job_id{};                  // 0: all; rows with smaller ids are not searched
  std::vector<LogState> states{};  // none: all
  WallTime since{};
  WallTime until{};  // ended before this; epoch: no limit
  // The least id of the time `until`. Of rows with later ids, only some thousands are searched for
  // results that came late. 0: all are.
  std::int64_t until_id = 0;
  std::string task_prefix{};  // of the task id
  // In the task id, the node or the message, in any case. More rows may match than are wanted: the
  // database decides about letters outside of ASCII.
  std::string text{};
  std::int64_t before_id = 0;  // page: log rows with smaller ids; 0: from the newest
  std::int64_t limit = 0;
};
struct HistoryAnswer {
  std::vector<LogEntry> entries{};
  // The search stopped early: rows with smaller ids than this may match. 0: complete.
  std::int64_t next = 0;
};
// By (attempt, sequence).
struct ListOutput {
  JobId job_id{};
  std::int32_t after_attempt = 0;
  std::int64_t after_sequence = 0;
  std::int64_t limit = 0;
};
struct OutputAnswer {
  std::vector<OutputRow> rows{};
};
// Number of waiting jobs of each group.
struct CountWaiting {
  WallTime now{};
  std::vector<GroupId> groups{};  // none: all
  bool only_due = false;          // `waiting` is the number of due jobs, which is found faster
  // Most rows to count per table; a larger count is reported as this number. An exact count of a
  // huge table takes seconds.
  std::int64_t rows_max = 1'000'000;
  // Groups that are not counted within this time are reported as unknown. 0: all are counted.
  Duration time_max{};
};
struct CountAnswer {
  struct PerGroup {
    GroupId group{};
    bool is_known = true;
    std::int64_t waiting = 0;
    std::int64_t due = 0;
    // The earliest due time of the counted rows; epoch: none is due.
    WallTime due_since{};
    bool operator==(const PerGroup&) const = default;
  };
  std::vector<PerGroup> groups{};
};
// Versions of a definition's script, newest first.
struct ListScripts {
  DefinitionId definition{};
};
struct ScriptsAnswer {
  std::vector<ScriptVersion> versions{};
};
// Number of log rows from `from` to `until`, by group, state and finality, in half hours
// (kCountSlot). Includes deleted rows.
struct CountLog {
  WallTime from{};
  WallTime until{};
  std::vector<GroupId> groups{};  // none: all
};
struct LogCountAnswer {
  std::vector<LogCount> counts{};
};
// The amount of waiting feedback for each client group. Also for the loop: with several job
// trackers, each stores some of it.
struct CountFeedback {};
struct FeedbackCounts {
  std::vector<std::pair<std::string, std::int64_t>> rows{};  // by client group
};
// Newest first.
struct ListAudit {
  std::string group{};    // empty: all
  std::string task_id{};  // of the group; empty: all
  std::string by{};       // empty: everybody
  std::int64_t from_id = 0;
  std::int64_t before_id = 0;  // page: rows with smaller ids; 0: from the newest
  std::int64_t limit = 0;
};
struct AuditAnswer {
  std::vector<AuditRow> rows{};
};
// All principals. Also for the loop.
struct ListPrincipals {};
struct PrincipalsAnswer {
  std::vector<PrincipalRow> rows{};  // by kind and name
};
// By minute, group and partition.
struct ListFigures {
  GroupId group{};  // the whole group; 0: all
  WallTime since{};
  WallTime until{};    // before this; epoch: no limit
  FiguresKey after{};  // page: later rows only
  // One row for each minute, without group and partition: the sums of `groups` (none: all), and the
  // largest lateness. `group` and `after` are not used.
  bool is_sum = false;
  std::vector<GroupId> groups{};
  std::int64_t limit = 0;
};
struct FiguresAnswer {
  std::vector<FiguresRow> rows{};
};
// Newest first.
struct ListAlarmHistory {
  GroupId group{};             // the whole group; 0: all
  std::int64_t before_id = 0;  // page: rows with smaller ids; 0: from the newest
  std::int64_t limit = 0;
};
struct AlarmHistoryAnswer {
  std::vector<AlarmHistoryRow> rows{};
};
// All silences, by group. For the loop.
struct ListSilences {};
struct SilencesAnswer {
  std::vector<SilenceRow> rows{};
};
struct ListNodes {};
struct NodesAnswer {
  std::vector<NodeRow> nodes{};
};

using Read = std::variant<ReadStart, ReadClock, ReadDue, ReadUpcoming, ReadDelayed, Find,
                          ReadDefinition, ReadOccurrences, ReadFeedback, ReadInbox, ReadExecutors,
                          ReadExecutorResults, FindGroup, MakeGroup, SplitGroup, ListWaiting,
                          ListDefinitions, ListExecuting, ListHistory, ListOutput, CountWaiting,
                          CountLog, ListScripts, ListAudit, ListFigures, CountFeedback, ListNodes,
                          ListPrincipals, ListAlarmHistory, ListSilences>;
// ReadDue, ReadUpcoming, ReadDelayed, ReadOccurrences, ListWaiting: JobsAnswer.
using ReadAnswer =
    std::variant<StartAnswer, ClockAnswer, JobsAnswer, FindAnswer, DefinitionAnswer, FeedbackAnswer,
                 InboxAnswer, ExecutorsAnswer, ExecutorResultsAnswer, GroupAnswer,
                 DefinitionsAnswer, ExecutingAnswer, HistoryAnswer, OutputAnswer, CountAnswer,
                 LogCountAnswer, ScriptsAnswer, AuditAnswer, FiguresAnswer, FeedbackCounts,
                 NodesAnswer, PrincipalsAnswer, AlarmHistoryAnswer, SilencesAnswer>;

}  // namespace carillon::jobtracker
