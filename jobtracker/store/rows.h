#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "carillon/ids.h"
#include "carillon/job_spec.h"
#include "carillon/time.h"
#include "jobtracker/store/principal_row.h"

// The rows of the tables, as values; docs/reference/tables.md describes each column.
namespace carillon::jobtracker {

// A triggered run precedes all jobs of its group, whatever its priority.
inline constexpr int kPriorityTriggered = -1;

// A waiting job: a row of its group's executable table, or of the delayed table.
struct WaitingJob {
  JobId id{};
  GroupId group{};
  std::string task_id{};
  bool keyed = false;         // the user chose the task id; lts_task_id holds it for this job
  DefinitionId definition{};  // 0: a one-shot job
  std::int32_t version = 0;   // the version of the definition that created it
  ScheduleKind kind = ScheduleKind::kNow;
  int priority = kPriorityDefault;       // order of dispatch
  WallTime trigger_time{};               // the same for all retries
  std::optional<WallTime> not_before{};  // of a retry: not due before this time
  std::int32_t attempt = 0;              // the last claimed attempt
  std::int32_t failures = 0;             // attempts that count against the retries
  // Consecutive lost attempts. Below 0: the number of lost attempts of superseded runs (overlap
  // `cancel_running`); this run was never tried.
  std::int32_t lost = 0;
  bool triggered = false;  // created by a trigger, outside the schedule
  bool makes_up = false;   // triggered: for a missed fire of the schedule
  bool forced = false;     // triggered with force: ignores the overlap rule
  bool delayed = false;    // a row of the delayed table, not of its group's table
  bool suspended = false;  // delayed rows only
  std::string spec{};      // an encoded JobSpec; empty: the definition's

  bool operator==(const WaitingJob&) const = default;
};

// The earliest time at which it may run.
inline WallTime due_time(const WaitingJob& job) {
  return job.not_before.value_or(job.trigger_time);
}

// Whether it has run, or may have: a claim was not only returned.
inline bool was_tried(const WaitingJob& job) {
  return job.failures > 0 || job.lost > 0 || job.not_before;
}

// The clock that set its time moved back by `by`, to `to`. The new time is not before `to`, so that
// earlier jobs stay first. Times chosen by users or schedules do not change.
inline void clock_moved_back(WaitingJob& job, Duration by, WallTime to) {
  const WallTime due = std::max(due_time(job) - by, to);
  const bool was_asked_for_now = job.kind == ScheduleKind::kNow ||
                                 (job.triggered && !job.makes_up) ||
                                 job.priority == kPriorityTriggered;
  if (was_tried(job)) {
    job.not_before = due;
  } else if (was_asked_for_now) {
    job.trigger_time = due;
  }
}

// Its worker died while it held the job, which may be the cause.
inline bool is_suspect(const WaitingJob& job) { return job.lost != 0; }

// After this number of consecutive losses a job is suspected of killing its workers: it goes into
// quarantine, until it is resumed.
inline constexpr std::int32_t kLostRunsMax = 3;
inline int lost_once_more(const WaitingJob& job) { return std::abs(job.lost) + 1; }
inline bool was_lost_too_often(const WaitingJob& job) { return job.lost >= kLostRunsMax; }
// For one-shot jobs. A run of a definition ends, and its definition goes into quarantine.
inline bool is_quarantined(const WaitingJob& job) {
  return job.suspended && was_lost_too_often(job);
}

// Whether it is a fire of its schedule, and counts. Other runs were requested by a user or
// triggered by a parent, and the requester knows their ids.
inline bool is_fire(const WaitingJob& job) { return !job.triggered || job.makes_up; }

// The strict order of dispatch within a group.
using HandOutKey = std::tuple<int, WallTime, JobId>;  // priority, due time, creation
inline HandOutKey hand_out_key(const WaitingJob& job) {
  return {job.priority, due_time(job), job.id};
}

// The order in which waiting jobs become due.
using DueKey = std::pair<WallTime, JobId>;
inline DueKey due_key(const WaitingJob& job) { return {due_time(job), job.id}; }

// A job that was claimed for a task tracker.
struct ExecutingJob {
  WaitingJob job{};     // attempt is the claimed one
  SessionId session{};  // the session that holds it
  std::string node{};   // the task tracker's name
  WallTime claimed_at{};
  bool cancelled = false;  // its retries are void; if it is lost, it ends as cancelled

  bool operator==(const ExecutingJob&) const = default;
};

enum class DefinitionState : int { kActive = 0, kSuspended = 1, kQuarantined = 2, kEnded = 3 };
// It does not fire until it is resumed.
inline bool is_held(DefinitionState state) {
  return state == DefinitionState::kSuspended || state == DefinitionState::kQuarantined;
}

// A stored cron, every, fixed-delay or manual job.
struct Definition {
  DefinitionId id{};
  GroupId group{};
  std::string task_id{};
  bool keyed = false;
  std::int32_t version = 1;  // raised by a suspension; older fires are void
  ScheduleKind kind = ScheduleKind::kCron;
  DefinitionState state = DefinitionState::kActive;
  WallTime created_at{};
  WallTime next_fire{};          // epoch: unknown
  WallTime last_fire{};          // epoch: none yet
  WallTime generated_through{};  // all fires up to this time have or had occurrences
  std::int64_t fired = 0;        // number of occurrences created by the schedule, for its count
  std::string spec{};            // an encoded JobSpec

  bool operator==(const Definition&) const = default;
};

// A version of a definition's script.
struct ScriptVersion {
  std::int64_t version = 0;  // when it was stored, in ms since 1970, or slightly later
  std::string language{};
  std::string source{};
  std::string remark{};

  bool operator==(const ScriptVersion&) const = default;
};
// Whether it equals the newest version.
inline bool is_no_new_version(const ScriptVersion& script, const ScriptVersion& newest) {
  return script.source == newest.source && script.language == newest.language &&
         (script.remark.empty() || script.remark == newest.remark);
}
// Number of versions that are kept for a definition.
inline constexpr std::int64_t kScriptVersionsMax = 30;

enum class LogState : int {
  kSucceeded = 0,
  kFailed = 1,
  kTimedOut = 2,
  kKilled = 3,
  kLost = 4,
  kLater = 5,
  kDiscarded = 6,  // ends of an attempt
  kSkipped = 7,
  kMissed = 8,
  kExpired = 9,
  kCancelled = 10,  // ends of an occurrence without an attempt
};
inline constexpr int kLogStates = 11;
const char* to_string(LogState state);
// The state with this name.
std::optional<LogState> log_state_of(std::string_view name);

// Empty: all states match.
inline bool is_one_of(const std::vector<LogState>& states, LogState state) {
  return states.empty() || std::find(states.begin(), states.end(), state) != states.end();
}

// Marks an end for an alarm: as a line of a message, which may cover several ends.
struct AlarmMark {
  std::int64_t alarm = 0;  // the message
  std::int32_t line = 0;
  std::int64_t failures = 0;  // covered by the line
  std::string recipient{};    // a mail address or a URL

  bool operator==(const AlarmMark&) const = default;
};

// A row of the job log. Attempt 0: no attempt was made; the row covers `count` fires.
struct LogEntry {
  std::int64_t id = 0;  // time-ordered
  JobId job_id{};
  GroupId group{};
  std::string task_id{};
  DefinitionId definition{};
  std::int32_t attempt = 0;
  LogState state = LogState::kSucceeded;
  WallTime trigger_time{};
  WallTime started_at{};  // epoch: never
  WallTime ended_at{};
  std::string node{};
  std::optional<std::int32_t> exit_code{};
  std::string message{};
  std::int64_t count = 1;
  bool final = true;              // no further attempt follows
  std::int64_t executor_log = 0;  // the log id of its call to an executor; 0: none
  // Not a column of the log: the client group, in lower case, whose feedback queue gets a copy of
  // this row.
  std::string feedback_to{};
  // Not a column of the log: the alarm lines that get a copy of this row.
  std::vector<AlarmMark> alarms{};

  bool operator==(const LogEntry&) const = default;
};

// A line of an alarm, with its last failure.
struct AlarmRow {
  AlarmMark mark{};
  LogEntry entry{};

  bool operator==(const AlarmRow&) const = default;
};

// Log rows are counted by the half hour of their end.
inline constexpr Duration kCountSlot = std::chrono::minutes{30};
inline WallTime count_slot_of(WallTime time) {
  return WallTime{time.time_since_epoch() - time.time_since_epoch() % kCountSlot};
}

// A number of ends of one kind.
struct LogCount {
  GroupId group{};
  LogState state = LogState::kSucceeded;
  bool final = true;
  std::int64_t ends = 0;

  bool operator==(const LogCount&) const = default;
};

struct OutputRow {
  JobId job_id{};
  std::int32_t attempt = 0;
  std::int64_t sequence = 0;
  int stream = 1;  // 1 stdout, 2 stderr, 3 the handler's log
  WallTime at{};
  std::string bytes{};

  bool operator==(const OutputRow&) const = default;
};

struct Group {
  GroupId id{};
  std::string name{};
  std::string table{};  // of its executable jobs
  bool served = false;  // a task tracker of this group has connected once
  WallTime created_at{};

  bool operator==(const Group&) const = default;
};

// Empty: all groups match.
inline bool is_of(const std::vector<GroupId>& groups, GroupId group) {
  return groups.empty() || std::find(groups.begin(), groups.end(), group) != groups.end();
}

// A child for the owner of its group to trigger.
struct InboxRow {
  std::int64_t id = 0;  // time-ordered
  GroupId group{};
  std::string task_id{};

  bool operator==(const InboxRow&) const = default;
};

// A task tracker that has connected, for `nodes`.
struct NodeRow {
  SessionId session{};
  std::string name{};
  GroupId group{};
  std::string address{};
  std::int32_t threads = 0;
  WallTime started_at{};
  WallTime last_seen{};
  bool alive = true;

  bool operator==(const NodeRow&) const = default;
};

// A change that somebody made, or an attempt at one.
struct AuditRow {
  std::int64_t id = 0;  // time-ordered
  WallTime at{};
  std::string by{};       // the principal's name, at most kAuditNameMax bytes
  std::string kind{};     // of the principal: local, key, token, executor, anyone
  std::string address{};  // of its machine; empty: unknown
  std::string action{};   // submit, replace, cancel, suspend, ...
  std::string group{};    // the name of the node group; empty: none
  std::string task_id{};  // empty: the action is not about one task
  std::string outcome{};  // "done", "conflict", or "refused: " with the reason
  std::string before{};   // a JSON object; empty: none
  std::string after{};

  bool operator==(const AuditRow&) const = default;
};
inline constexpr std::size_t kAuditNameMax = 128;
inline constexpr std::size_t kAuditGroupMax = 64;
inline constexpr std::size_t kAuditTaskMax = 200;
inline constexpr std::size_t kAuditOutcomeMax = 300;

// The figures of a group in one minute. Of a group in partitions, each partition has a row; the
// task trackers are counted in the first one's.
struct FiguresRow {
  WallTime minute{};  // its begin
  GroupId group{};    // the whole group
  GroupId part{};
  std::int64_t submitted = 0;
  std::int64_t started = 0;  // attempts
  std::int64_t ended = 0;
  std::int64_t failed = 0;           // of `ended`: failed, timed out or lost
  std::int64_t lateness_p50_ms = 0;  // of the ended attempts; 0 without any
  std::int64_t lateness_p95_ms = 0;
  std::int64_t lateness_p99_ms = 0;
  std::int64_t backlog = 0;  // due jobs at its end
  std::int64_t workers = 0;
  std::int64_t threads = 0;

  bool operator==(const FiguresRow&) const = default;
};
// The order of these rows.
using FiguresKey = std::tuple<WallTime, GroupId, GroupId>;
inline FiguresKey figures_key(const FiguresRow& row) { return {row.minute, row.group, row.part}; }
// Adds figures of the same minute. Quantiles cannot be combined: the largest remains.
void add_figures(FiguresRow& sum, const FiguresRow& more);

}  // namespace carillon::jobtracker
