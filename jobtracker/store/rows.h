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

// The rows of the tables, as values; docs/reference/tables.md describes each column.
namespace carillon::jobtracker {

// A trigger-now run stands before everything in its group, whatever its job's priority.
inline constexpr int kPriorityTriggered = -1;

// A job that waits: a row of its group's executable table, or of the delayed table.
struct WaitingJob {
  JobId id{};
  GroupId group{};
  std::string task_id{};
  bool keyed =
      false;  // the task id was chosen by the user, and is held in lts_task_id for this job
  DefinitionId definition{};  // 0: a one-shot job
  std::int32_t version = 0;   // the definition's version that made it
  ScheduleKind kind = ScheduleKind::kNow;
  int priority = kPriorityDefault;       // order of hand-out
  WallTime trigger_time{};               // stays over its retries
  std::optional<WallTime> not_before{};  // of a try that follows another: not due before that
  std::int32_t attempt = 0;              // the last attempt that was claimed
  std::int32_t failures = 0;             // attempts that count against the retries
  // Attempts in a row whose worker died. Below 0: so many, of the runs before it, which made way
  // for it (overlap `cancel_running`); it was not tried itself.
  std::int32_t lost = 0;
  bool triggered = false;  // made by trigger: not on the schedule's grid
  bool makes_up = false;   // triggered: for a fire of the grid that was missed
  bool forced = false;     // triggered with force: runs whatever overlap says
  bool delayed = false;    // a row of the delayed table, not of its group's
  bool suspended = false;  // delayed ones only
  std::string spec{};      // an encoded JobSpec; empty: its definition's

  bool operator==(const WaitingJob&) const = default;
};

// From then on it may run.
inline WallTime due_time(const WaitingJob& job) {
  return job.not_before.value_or(job.trigger_time);
}

// Whether a claim of it was more than handed out and back: it has run, or may have.
inline bool was_tried(const WaitingJob& job) {
  return job.failures > 0 || job.lost > 0 || job.not_before;
}

// The clock, off which its time was read, was set back by so much since, to `to`: it is not before
// that, so that what came before it goes first. A time that a person or a schedule named stays.
inline void set_back(WaitingJob& job, Duration by, WallTime to) {
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

// Its worker died while it ran there, or lay there: it may be what that died of.
inline bool is_suspect(const WaitingJob& job) { return job.lost != 0; }

// A job whose worker died so often in a row, while it ran there, may be what kills them: it goes
// into quarantine, and is not handed out until somebody resumes it.
inline constexpr std::int32_t kLostRunsMax = 3;
inline int lost_once_more(const WaitingJob& job) { return std::abs(job.lost) + 1; }
inline bool was_lost_too_often(const WaitingJob& job) { return job.lost >= kLostRunsMax; }
// Of one-shot jobs. A run of a definition ends, and its definition is in quarantine.
inline bool is_quarantined(const WaitingJob& job) {
  return job.suspended && was_lost_too_often(job);
}

// Whether it stands for a fire of its schedule, and counts. What does not was asked for, by a
// person or by the success of a parent, and its id was told.
inline bool is_fire(const WaitingJob& job) { return !job.triggered || job.makes_up; }

// The strict order of hand-out within a group.
using HandOutKey = std::tuple<int, WallTime, JobId>;  // priority, due time, creation
inline HandOutKey hand_out_key(const WaitingJob& job) {
  return {job.priority, due_time(job), job.id};
}

// The order in which waiting jobs come due.
using DueKey = std::pair<WallTime, JobId>;
inline DueKey due_key(const WaitingJob& job) { return {due_time(job), job.id}; }

// A job that was claimed for a task tracker.
struct ExecutingJob {
  WaitingJob job{};     // attempt is the one that was claimed
  SessionId session{};  // whose
  std::string node{};   // the task tracker's name
  WallTime claimed_at{};
  bool cancelled = false;  // its retries are void; a cancelled run that is lost ends as cancelled

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
  std::int32_t version = 1;  // raised by suspend; older fires are void
  ScheduleKind kind = ScheduleKind::kCron;
  DefinitionState state = DefinitionState::kActive;
  WallTime created_at{};
  WallTime next_fire{};          // epoch: none known
  WallTime last_fire{};          // epoch: none yet
  WallTime generated_through{};  // occurrences up to here, inclusive, exist or existed
  std::int64_t fired = 0;        // occurrences made of the schedule so far, for its count
  std::string spec{};            // an encoded JobSpec

  bool operator==(const Definition&) const = default;
};

// A text that the script of a definition has, or had.
struct ScriptVersion {
  std::int64_t version = 0;  // when it was stored, in ms since 1970, or a little later
  std::string language{};
  std::string source{};
  std::string remark{};

  bool operator==(const ScriptVersion&) const = default;
};
// Whether that is what the newest has already.
inline bool is_no_new_version(const ScriptVersion& script, const ScriptVersion& newest) {
  return script.source == newest.source && script.language == newest.language &&
         (script.remark.empty() || script.remark == newest.remark);
}
// The newest so many of a definition are kept.
inline constexpr std::int64_t kScriptVersionsMax = 30;

enum class LogState : int {
  kSucceeded = 0,
  kFailed = 1,
  kTimedOut = 2,
  kKilled = 3,
  kLost = 4,
  kLater = 5,
  kDiscarded = 6,  // an attempt ended
  kSkipped = 7,
  kMissed = 8,
  kExpired = 9,
  kCancelled = 10,  // an occurrence ended without one
};
inline constexpr int kLogStates = 11;
const char* to_string(LogState state);
// The state of that name.
std::optional<LogState> log_state_of(std::string_view name);

// None: of any.
inline bool is_one_of(const std::vector<LogState>& states, LogState state) {
  return states.empty() || std::find(states.begin(), states.end(), state) != states.end();
}

// That somebody is to be told of an end: by a line of a message, which may stand for several ends.
struct AlarmMark {
  std::int64_t alarm = 0;  // the message
  std::int32_t line = 0;
  std::int64_t failures = 0;  // that the line stands for
  std::string recipient{};    // a mail address or a URL

  bool operator==(const AlarmMark&) const = default;
};

// A row of the job log. Attempt 0: no attempt was made; `count` fires are meant.
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
  std::int64_t executor_log = 0;  // the log id of its call of an executor; 0: there was none
  // No column of the log: the client group, in lower case, that a copy of this row is queued for.
  std::string feedback_to{};
  // Nor these: the lines of alarms that a copy of this row is written as.
  std::vector<AlarmMark> alarms{};

  bool operator==(const LogEntry&) const = default;
};

// A line of an alarm, as the last one of its failures ended.
struct AlarmRow {
  AlarmMark mark{};
  LogEntry entry{};

  bool operator==(const AlarmRow&) const = default;
};

// Rows of the log are counted by the half hour in which they ended.
inline constexpr Duration kCountSlot = std::chrono::minutes{30};
inline WallTime count_slot_of(WallTime time) {
  return WallTime{time.time_since_epoch() - time.time_since_epoch() % kCountSlot};
}

// How many ends the log had of a kind.
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
  bool served = false;  // a task tracker of this group was seen once
  WallTime created_at{};

  bool operator==(const Group&) const = default;
};

// None: of any.
inline bool is_of(const std::vector<GroupId>& groups, GroupId group) {
  return groups.empty() || std::find(groups.begin(), groups.end(), group) != groups.end();
}

// A child that is to be triggered by who looks after its group.
struct InboxRow {
  std::int64_t id = 0;  // time-ordered
  GroupId group{};
  std::string task_id{};

  bool operator==(const InboxRow&) const = default;
};

// A task tracker that was seen, for `nodes`.
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

}  // namespace carillon::jobtracker
