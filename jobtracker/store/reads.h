#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "jobtracker/store/group_parts.h"
#include "jobtracker/store/partitions.h"
#include "jobtracker/store/push_rows.h"
#include "jobtracker/store/rows.h"

// What the loop, and people, may ask the store. Every answer is bounded by a limit.
namespace carillon::jobtracker {

// ---- for the loop: asked on the lane, so that the answer is after all batches before it ----

// What time it is for all who share the store.
struct ReadClock {};
struct ClockAnswer {
  std::optional<WallTime> shows{};  // none: nobody shares it, this machine's clock is as good
  SteadyTime at{};                  // of this process, when it showed that
  Duration took{};                  // the answer; it is known no better than that
};

// All groups, and of those that are looked after all definitions, everything executing, the runs
// that wait to be tried again, how much feedback waits, and what earlier sessions left.
struct ReadStart {
  // The session before of the same process has left what it knew of these partitions: of their
  // definitions, and of the runs of them that are to be tried again, only those listed are read.
  Partitions known{};
  std::vector<DefinitionId> unsettled{};
};
struct StartAnswer {
  std::vector<Group> groups{};
  std::vector<Definition> definitions{};
  std::vector<ExecutingJob> executing{};
  std::vector<WaitingJob> retries{};  // of definitions: they wait and were claimed before
  std::int64_t id_high = 0;           // no id ever given out is higher
  std::vector<std::pair<std::string, std::int64_t>> feedback{};  // client groups, with rows each
  DefinitionId definition_high{};  // no definition that was ever stored had a higher one
  // When an earlier session last committed that had recovered what was missed before it; epoch:
  // never.
  WallTime last_alive{};
  // Of partitions where that is another time.
  std::map<std::int32_t, WallTime> last_alive_of{};
  std::map<std::int32_t, std::int64_t> epochs{};  // of the partitions that are looked after
  Partitions owned = all_partitions();            // all else that is of groups is of theirs
  // Told apart by it from other sessions that work on the store now; none: there can be no others.
  std::optional<std::int32_t> number{};
  // The longest that may be valid of a task tracker: of this session's, and of those of the
  // sessions before it, whoever they were.
  Duration lease{};
  ClockAnswer clock{};
  std::vector<ExecutorGroup> executor_groups{};  // all of them, and of the next
  std::vector<ExecutorRow> executors{};
  std::vector<PushRun> push_runs{};
  std::vector<RouteRow> routes{};
  std::vector<AlarmRow> alarms{};  // by alarm and line
};

// The best waiting jobs of a group that are due at `now`, in the order of hand-out, after `after`.
struct ReadDue {
  GroupId group{};
  WallTime now{};
  std::optional<HandOutKey> after{};
  std::int64_t limit = 0;
};
// The next ones to come due, by (due time, id), after `after` and not later than `through`.
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

// Who holds a task id (or a job id, when task_id is empty; `group` 0 looks everywhere).
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

// Also of groups that others look after.
struct ReadDefinition {
  GroupId group{};
  std::string task_id{};
};
struct DefinitionAnswer {
  std::optional<Definition> definition{};
};

// The jobs of a definition that wait, at most `limit`, those that are tried again first.
struct ReadOccurrences {
  DefinitionId definition{};
  GroupId group{};
  std::int64_t limit = 0;
  // Only those that were never tried, with lower ids than this: a page of them.
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

// What waits for the job tracker, the oldest first.
struct ReadInbox {
  std::int64_t limit = 0;
};
struct InboxAnswer {
  std::vector<InboxRow> rows{};
};

// All of them, as they are by now.
struct ReadExecutors {};
struct ExecutorsAnswer {
  std::vector<ExecutorGroup> groups{};
  std::vector<ExecutorRow> executors{};
};

// Those that wait for the job tracker, the oldest first: of the `limit` rows behind `after`,
// whomever they are for.
struct ReadExecutorResults {
  std::int64_t after = 0;  // an id
  std::int64_t limit = 0;
};
struct ExecutorResultsAnswer {
  std::vector<ExecutorResult> rows{};
  std::int64_t next = 0;  // there may be more behind this one; 0: that was all
  bool operator==(const ExecutorResultsAnswer&) const = default;
};

// The group of that name, whatever its case. kNotFound: there is none.
struct FindGroup {
  std::string name{};
};
// Makes the group and its table if there is none yet; not inside a transaction.
struct MakeGroup {
  std::string name{};
};
// Splits a group; asked before anything is known of it. The answer is the group itself.
struct SplitGroup {
  GroupSplit split{};
};
struct GroupAnswer {
  Group group{};
};

// ---- for people: asked on a read-only connection of their own ----

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
// By id. Also of groups that others look after.
struct ListDefinitions {
  std::vector<GroupId> groups{};  // none: all
  std::string task_id{};          // empty: all
  DefinitionId after{};
  std::int64_t limit = 0;
};
struct DefinitionsAnswer {
  std::vector<Definition> definitions{};
  DefinitionId next{};  // there may be more behind this one; 0: that was all
};
struct ExecutingAnswer {
  std::vector<ExecutingJob> jobs{};
};
// Newest first.
struct ListHistory {
  std::vector<GroupId> groups{};   // none: all
  std::string task_id{};           // empty: all
  JobId job_id{};                  // 0: all; rows with a smaller id are not looked at
  std::vector<LogState> states{};  // none: all
  WallTime since{};
  std::int64_t before_id = 0;  // page: log rows with a smaller id; 0: from the newest
  std::int64_t limit = 0;
};
struct HistoryAnswer {
  std::vector<LogEntry> entries{};
  // The search stopped before it found enough: there may be more rows with smaller ids than this.
  // 0: it did not.
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
// How many wait in each group.
struct CountWaiting {
  WallTime now{};
  std::vector<GroupId> groups{};  // none: all
  // Rows counted of one table; more is told as so many: an exact count of a huge table takes
  // seconds, and nobody reads the last digits.
  std::int64_t rows_max = 1'000'000;
};
struct CountAnswer {
  struct PerGroup {
    GroupId group{};
    std::int64_t waiting = 0;
    std::int64_t due = 0;
    // The time of the one that is due the longest, of those counted; epoch: none is.
    WallTime due_since{};
    bool operator==(const PerGroup&) const = default;
  };
  std::vector<PerGroup> groups{};
};
// Of a definition, the newest first.
struct ListScripts {
  DefinitionId definition{};
};
struct ScriptsAnswer {
  std::vector<ScriptVersion> versions{};
};
// What the log had from `from` on, before `until`, by group, state and finality; also of rows that
// are not there any more. In half hours (kCountSlot).
struct CountLog {
  WallTime from{};
  WallTime until{};
  std::vector<GroupId> groups{};  // none: all
};
struct LogCountAnswer {
  std::vector<LogCount> counts{};
};
// How much waits for each client group. The loop asks it too: of several job trackers each stores
// some of it.
struct CountFeedback {};
struct FeedbackCounts {
  std::vector<std::pair<std::string, std::int64_t>> rows{};  // by client group
};
struct ListNodes {};
struct NodesAnswer {
  std::vector<NodeRow> nodes{};
};

using Read = std::variant<ReadStart, ReadClock, ReadDue, ReadUpcoming, ReadDelayed, Find,
                          ReadDefinition, ReadOccurrences, ReadFeedback, ReadInbox, ReadExecutors,
                          ReadExecutorResults, FindGroup, MakeGroup, SplitGroup, ListWaiting,
                          ListDefinitions, ListExecuting, ListHistory, ListOutput, CountWaiting,
                          CountLog, ListScripts, CountFeedback, ListNodes>;
// ReadDue, ReadUpcoming, ReadDelayed, ReadOccurrences, ListWaiting: JobsAnswer.
using ReadAnswer =
    std::variant<StartAnswer, ClockAnswer, JobsAnswer, FindAnswer, DefinitionAnswer, FeedbackAnswer,
                 InboxAnswer, ExecutorsAnswer, ExecutorResultsAnswer, GroupAnswer,
                 DefinitionsAnswer, ExecutingAnswer, HistoryAnswer, OutputAnswer, CountAnswer,
                 LogCountAnswer, ScriptsAnswer, FeedbackCounts, NodesAnswer>;

}  // namespace carillon::jobtracker
