#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "jobtracker/store/alarm_rows.h"
#include "jobtracker/store/partitions.h"
#include "jobtracker/store/push_rows.h"
#include "jobtracker/store/rows.h"

// Changes of the store: explicit row moves, decided by the loop, never by SQL.
//
// A batch is one transaction. Expected conflicts are outcomes of single operations, not errors.
// Operations take effect in the order of the alternatives of `Operation` below, and within a kind
// in the given order.
namespace carillon::jobtracker {

// Changes or removes a waiting job: cancel, expire, suspend, resume, promote, move its time.
// kConflict: it does not exist, has another attempt, or was suspended or resumed; nothing happens.
struct ChangeWaiting {
  WaitingJob from{};               // found by id, in its table
  std::optional<WaitingJob> to{};  // empty: removed; the key of a keyed one-shot is freed
  std::optional<LogEntry> log{};
};

// Removes an attempt from the executing table, and writes the consequences of its end. kConflict:
// the attempt is not executing; nothing happens.
struct End {
  JobId id{};
  std::int32_t attempt = 0;
  GroupId group{};
  std::string task_id{};
  bool frees_key = false;              // a keyed one-shot that has finally ended
  std::optional<LogEntry> log{};       // empty: it never started
  std::optional<WaitingJob> again{};   // a retry, or the returned job, with the same id
  std::vector<WaitingJob> children{};  // children that its success triggers
  std::vector<InboxRow> relayed{};     // children that other job trackers trigger
};

inline constexpr std::int64_t kVoidedRunsMax = 1'000'000;
// Distance of a session's ids; the ids of other sessions are between.
inline constexpr std::int64_t kIdStep = kPartitions;

// Changes all columns of a definition, and adds or supersedes its occurrences. kConflict: it does
// not exist, or has another version or generated_through; nothing happens.
struct ChangeDefinition {
  DefinitionId id{};
  std::int32_t expected_version = 0;
  // For generation, which must not be repeated.
  std::optional<WallTime> expected_generated_through{};
  std::optional<Definition> to{};  // empty: removed, its key is freed
  // Removed: the new owner of its scripts' versions; 0: they are deleted.
  DefinitionId scripts_to{};
  DefinitionId routes_to{};  // removed: the new owner of its route's memory; 0: none
  // For a removal: its runs, and those of definitions that it replaced. Executing ones are
  // cancelled in the same operation. Its own runs without a spec get its spec, so that their
  // feedback and children stay known.
  std::vector<JobId> runs{};
  bool cancels_runs = false;
  bool leaves_spec = false;
  bool spec_changed = false;      // otherwise the stored spec stays
  bool void_waiting = false;      // deletes its waiting occurrences
  bool spares_triggered = false;  // but keeps triggered runs
  // The log row for deleted occurrences that are due and were never claimed: it gets their number
  // and the first time. Without such occurrences it is written unchanged, unless its count is 0.
  // Each deleted run that was claimed before (it waits for a retry or was returned) or is not a
  // fire (its id is known to a client) gets its own row; their ids follow this one's, at most
  // kVoidedRunsMax. Only these rows are feedback. The outcome's `next` has their number.
  std::optional<LogEntry> voided{};
  // Subtracts the deleted fires that were never tried from to->fired. The outcome's `count` has
  // their number.
  bool uncounts_voided = false;
  GroupId group{};                // the group of its waiting runs
  std::vector<WaitingJob> add{};  // all in `group`
  std::vector<LogEntry> logs{};
};

// Moves a waiting job to the executing table and raises its attempt number by one. kConflict: it is
// not waiting with this attempt.
struct Claim {
  ExecutingJob to{};  // to.job.attempt is the new attempt number
};

// kTaken: another job has the task id; the outcome's existing_* name it. Nothing happens.
struct AddDefinition {
  Definition definition{};
  std::optional<WaitingJob> first{};
};

// A new job that a free task tracker gets immediately: it never waits. to.job has its first
// attempt. kTaken: as for AddDefinition.
struct AddExecuting {
  ExecutingJob to{};
};

// kTaken: as for AddDefinition.
struct AddJob {
  WaitingJob job{};
};

// Voids the retries of a running job. kConflict: the attempt is not executing.
struct CancelExecuting {
  JobId id{};
  std::int32_t attempt = 0;
};

// Existing chunks stay unchanged.
struct AddOutput {
  OutputRow row{};
};

// Inserts or replaces a row by session; marks its group as served.
struct PutNode {
  NodeRow node{};
};

// Deletes these rows of a client group's feedback, and all with ids smaller than `before`. Missing
// rows are ignored. The outcome's `count` has the number of deleted rows.
struct RemoveFeedback {
  std::string client_group{};
  std::vector<std::int64_t> ids{};
  std::int64_t before = 0;
};

// Deletes at most `limit` log rows, and the output of jobs, older than `before`; also old clients,
// and silences that are over.
// The outcome's `count` has the number of deleted rows.
struct Purge {
  WallTime log_before{};
  WallTime clients_before{};
  WallTime counts_before{};       // counts of the log before this time; all in one step
  std::int64_t audit_before = 0;  // audit and alarm history with ids smaller than this; 0: none
  std::int64_t alarms_max = 0;    // rows of the alarm history that stay, the newest; 0: all
  WallTime figures_before{};      // figures of minutes before this, whole minutes at a time
  std::int64_t limit = 1000;
};

// Deletes log rows with the output of their attempts, except those of waiting or executing jobs. It
// checks the oldest `limit` rows between `after` and `before`. The outcome's `count` has the number
// of deleted rows, `next` the row to continue after; 0: complete.
struct CleanLog {
  std::vector<GroupId> groups{};  // empty: all
  std::string task_id{};          // empty: all
  std::int64_t after = 0;
  std::int64_t before = 0;
  std::int64_t limit = 1000;
};

// Adds the oldest missing log rows to the log's index, if that many rows are settled
// (Batch::log_settled); otherwise none. The outcome's `count` has the number of rows.
struct IndexLog {
  std::int64_t rows = 1000;
  std::int64_t slice_rows = 64'000;  // number of rows in a slice of the index
};

// The group's owner has triggered the child, or cannot.
struct RemoveInbox {
  std::int64_t id = 0;
  GroupId to{};  // the row moves to the owner of this group
};

// An alarm was delivered or given up: deletes all its lines.
struct RemoveAlarm {
  std::int64_t alarm = 0;
};

// Inserts or replaces a row by its key; a route without memory is deleted.
struct PutExecutorGroup {
  ExecutorGroup row{};
  bool is_new = false;  // no effect if it exists
};
// Several job trackers receive data about an executor; each writes only its own data.
enum class ExecutorWord : std::uint8_t {
  kListed = 0,      // all columns
  kRegistered = 1,  // adds it, or sets its time; in a group with a list none is added
  kFacts = 2,    // how it accepts calls, and whether it is honest; no effect if it does not exist
  kLeft = 3,     // deletes it, unless it is listed or has registered after that time
  kRemoved = 4,  // deletes it
};
// The first two mark its group as served. Changes are written in their order, so that a removal
// after a registration wins, and vice versa.
struct ChangeExecutor {
  ExecutorRow row{};
  ExecutorWord word = ExecutorWord::kListed;

  bool serves() const { return word <= ExecutorWord::kRegistered; }
  bool goes() const { return word >= ExecutorWord::kLeft; }
};
struct PutPushRun {
  PushRun row{};
};
struct PutRoute {
  RouteRow row{};
};
struct PutExecutorResult {
  ExecutorResult row{};
};

// No effect if it does not exist.
struct RemovePushRun {
  std::int64_t log_id = 0;
};
struct RemoveExecutorResult {
  std::int64_t id = 0;
};

// A log row without a change of a job: the end of one shard of a run.
struct AddLog {
  LogEntry entry{};
};

// Stores a version of a definition's script. A version equal to the newest one, with the same
// remark, is not stored. A version with a number not above the newest gets the next number. No
// effect if the definition does not exist.
struct PutScript {
  DefinitionId definition{};
  ScriptVersion script{};
  bool is_old = false;  // inserts an older version; no effect if its number exists
};

// Removes an executor group with its executors; it is not served any more.
struct RemoveExecutorGroup {
  GroupId group{};
};

// A change that is not a numbered request, or a refused attempt.
struct AddAudit {
  AuditRow row{};
};

// Adds a principal, or replaces it. An empty secret or language and a zero time keep the stored
// ones; empty groups keep the role and the groups; created_at and created_by stay. The outcome is
// kConflict if it exists with another secret and `replaces` is false, or if it does not exist and
// has no groups.
struct PutPrincipal {
  PrincipalRow row{};
  bool replaces = false;
};

// The outcome is kConflict if it does not exist.
struct RemovePrincipal {
  std::string kind{};
  std::string name{};
};

// Inserts or replaces a row by its key.
struct PutFigures {
  FiguresRow row{};
};

// Inserts or replaces a row by its id.
struct PutAlarmHistory {
  AlarmHistoryRow row{};
};

// Inserts or replaces a row by its group; until the epoch: removes it.
struct PutSilence {
  SilenceRow row{};
};

using Operation =
    std::variant<ChangeWaiting, End, ChangeDefinition, Claim, AddDefinition, AddExecuting, AddJob,
                 CancelExecuting, AddOutput, PutNode, RemoveFeedback, RemoveInbox, RemoveAlarm,
                 RemoveExecutorGroup, RemoveExecutorResult, PutExecutorGroup, ChangeExecutor,
                 PutPushRun, RemovePushRun, PutRoute, PutExecutorResult, PutScript, AddLog, Purge,
                 CleanLog, IndexLog, AddAudit, PutPrincipal, RemovePrincipal, PutFigures,
                 PutAlarmHistory, PutSilence>;

enum class OutcomeKind : std::uint8_t {
  kDone = 0,
  kConflict = 1,
  kTaken = 2,
  kAnswered = 3,  // its request was answered before: nothing was done
};

struct Outcome {
  OutcomeKind kind = OutcomeKind::kDone;
  JobId existing_job{};                // kTaken
  DefinitionId existing_definition{};  // kTaken
  std::int64_t count = 0;  // for Purge, CleanLog, IndexLog, RemoveFeedback, ChangeDefinition
  std::int64_t next = 0;  // for CleanLog, ChangeDefinition; not stored with the answer of a request

  bool operator==(const Outcome&) const = default;
};

// A numbered request with operations in this batch. If its number was stored before, none of them
// is done and the stored answer is returned; otherwise `answer` is stored with the outcomes. A
// batch has at most one request per client and sequence.
struct NumberedRequest {
  std::int64_t client = 0;
  std::int64_t sequence = 0;
  std::string answer{};
  std::size_t first_operation = 0;  // its operations are a range of Batch::operations
  std::size_t operation_count = 0;
  // Stored with the answer. The outcome becomes "conflict" if it has operations and none is done.
  std::optional<AuditRow> audit{};
};

// The row after a PutPrincipal; none: it is a conflict.
std::optional<PrincipalRow> principal_after(const PutPrincipal& put,
                                            const std::optional<PrincipalRow>& before);

// The audit row to store for a request that was not answered before; none: it has none.
std::optional<AuditRow> audit_row_of(const NumberedRequest& request,
                                     const std::vector<Outcome>& outcomes);

struct RequestOutcome {
  bool answered_before = false;
  // For answered_before only. Empty answer: the number is older than the stored answers.
  std::string answer{};
  std::vector<Outcome> outcomes{};
};

struct Batch {
  // The fence: must be the next number of this session and store connection, or nothing is done.
  std::int64_t number = 0;
  std::int64_t id_high = 0;  // the highest id that the loop has assigned
  bool recovered = false;    // fires missed before this session have outcomes
  Duration lease{};          // the longest lease that may be valid; 0: unchanged
  WallTime now{};
  std::vector<Operation> operations{};
  std::vector<NumberedRequest> requests{};
  // No later batch of the session adds a log row with an id up to this. 0: unchanged.
  std::int64_t log_settled = 0;
};

struct Committed {
  std::vector<Outcome> outcomes{};         // one per operation
  std::vector<RequestOutcome> requests{};  // one per request
  Duration rows_took{};                    // time of its statements, without the COMMIT
};

struct RolledBack {
  Error error{};
  bool fenced = false;  // another job tracker took over: this session must stop deciding
  std::optional<std::size_t> culprit{};  // the operation that can never succeed, if known
};

// The connection broke during COMMIT. If settle() confirms the commit, this is its result.
struct Unknown {
  Committed if_committed{};
};

using CommitResult = std::variant<Committed, RolledBack, Unknown>;

}  // namespace carillon::jobtracker
