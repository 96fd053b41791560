#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "jobtracker/store/partitions.h"
#include "jobtracker/store/push_rows.h"
#include "jobtracker/store/rows.h"

// What the loop asks the store to change: explicit row moves, chosen by the loop, never by SQL.
//
// A batch is one transaction. Expected conflicts are outcomes of single operations, not errors.
// Operations of a batch take effect in the order of the alternatives of `Operation` below, and
// within one kind in the order given.
namespace carillon::jobtracker {

// Changes or removes a waiting job: cancel, expire, suspend, resume, promote, move its time.
// kConflict: it is gone, its attempt is another, or it was suspended or resumed; nothing happens.
struct ChangeWaiting {
  WaitingJob from{};               // found by id, in the table that it says
  std::optional<WaitingJob> to{};  // empty: removed; its key is freed when it is a keyed one-shot
  std::optional<LogEntry> log{};
};

// Takes an attempt out of the executing table, and writes what follows from its end.
// kConflict: that attempt is not executing (any more); then nothing of it happens.
struct End {
  JobId id{};
  std::int32_t attempt = 0;
  GroupId group{};
  std::string task_id{};
  bool frees_key = false;              // a keyed one-shot that has ended for good
  std::optional<LogEntry> log{};       // empty: it was never started
  std::optional<WaitingJob> again{};   // a retry, a later, or the job given back: same id
  std::vector<WaitingJob> children{};  // runs that its success has set off
  std::vector<InboxRow> relayed{};     // those that others are to trigger
};

inline constexpr std::int64_t kVoidedRunsMax = 1'000'000;
// Ids of one session lie so far apart, so that those of others fit between.
inline constexpr std::int64_t kIdStep = kPartitions;

// Changes a definition, all columns of it, and adds or voids its occurrences.
// kConflict: it is not there, or its version or generated_through is not as expected; then nothing
// of it happens.
struct ChangeDefinition {
  DefinitionId id{};
  std::int32_t expected_version = 0;
  std::optional<WallTime> expected_generated_through{};  // for generation, which must not repeat
  std::optional<Definition> to{};                        // empty: removed, its key freed
  DefinitionId scripts_to{};  // removed: whose its scripts' versions are now; 0: they go
  DefinitionId routes_to{};   // removed: whose is now what its route remembers; 0: nobody's
  // Removed: its runs, and those that go on of what it replaced. Those of them that execute are
  // cancelled with it; its own get its spec, where they have none, so that it is known after it
  // whom their ends are to be told and what they set off.
  std::vector<JobId> runs{};
  bool cancels_runs = false;
  bool leaves_spec = false;
  bool spec_changed = false;      // otherwise the stored spec stays as it is
  bool void_waiting = false;      // its occurrences that wait are deleted
  bool spares_triggered = false;  // but not those that are no fires
  // The log row for those of them that were due by its end and had never been claimed: it gets
  // their number and the time of the first. With none it is written as it is, unless it counts 0.
  // Each that was claimed before gets such a row of its own, as it is a run that waits for its
  // retry or was given back, and so does each that is no fire, as somebody knows its id; their ids
  // follow this one's, kVoidedRunsMax at most. Only these are feedback, if it is to be told; the
  // outcome's `next` says how many.
  std::optional<LogEntry> voided{};
  // Those of the schedule's grid that were not tried come off to->fired; the outcome's `count` says
  // how many.
  bool uncounts_voided = false;
  GroupId group{};                // where they wait
  std::vector<WaitingJob> add{};  // all of `group`
  std::vector<LogEntry> logs{};
};

// Moves a waiting job to the executing table; its attempt number goes up by one.
// kConflict: it is not waiting with this attempt.
struct Claim {
  ExecutingJob to{};  // to.job.attempt is the new attempt; the waiting row has one less
};

// kTaken: the task id is held by another; existing_* of the outcome say by whom. Then nothing of
// it happens.
struct AddDefinition {
  Definition definition{};
  std::optional<WaitingJob> first{};
};

// A new job that a free task tracker takes at once: it never waits. The attempt of to.job is its
// first. kTaken: as for AddDefinition.
struct AddExecuting {
  ExecutingJob to{};
};

// kTaken: as for AddDefinition.
struct AddJob {
  WaitingJob job{};
};

// The retries of a running job are void from now on. kConflict: that attempt is not executing.
struct CancelExecuting {
  JobId id{};
  std::int32_t attempt = 0;
};

// Chunks that are there already are left as they are.
struct AddOutput {
  OutputRow row{};
};

// Inserts or replaces, by session; marks its group as served.
struct PutNode {
  NodeRow node{};
};

// Takes feedback out of a client group's queue: these, and whatever has a smaller id than `before`.
// Those that are not there do not matter. The outcome's `count` says how many rows went.
struct RemoveFeedback {
  std::string client_group{};
  std::vector<std::int64_t> ids{};
  std::int64_t before = 0;
};

// Deletes at most `limit` log rows, and the output of jobs, older than `before`; forgotten clients
// likewise. The outcome's `count` says how many rows went.
struct Purge {
  WallTime log_before{};
  WallTime clients_before{};
  WallTime counts_before{};  // what is counted of the log; all of it, it is little
  std::int64_t limit = 1000;
};

// Deletes rows of the log, with the output of their attempts, but none of a job that waits or
// executes. Of the rows between `after` and `before` it looks at the oldest `limit`. The outcome's
// `count` says how many rows went, `next` after which row to go on; 0: that was all.
struct CleanLog {
  std::vector<GroupId> groups{};  // none: of all
  std::string task_id{};          // empty: of all
  std::int64_t after = 0;
  std::int64_t before = 0;
  std::int64_t limit = 1000;
};

// Adds rows of the log to its index: the oldest that are not in it, if there are so many that are
// settled (Batch::log_settled), and otherwise none. The outcome's `count` says how many.
struct IndexLog {
  std::int64_t rows = 1000;
  std::int64_t slice_rows = 64'000;  // the index is made of slices of so many rows
};

// Who looks after the group has triggered it, or cannot.
struct RemoveInbox {
  std::int64_t id = 0;
  GroupId to{};  // it is of that group, and stays for who looks after it
};

// An alarm was delivered, or is given up: all its lines go.
struct RemoveAlarm {
  std::int64_t alarm = 0;
};

// Inserts or replaces, by its key; a route without a memory is removed.
struct PutExecutorGroup {
  ExecutorGroup row{};
  bool is_new = false;  // nothing where it is there
};
// Several job trackers know what is said of an executor; each writes only what was said to it.
enum class ExecutorWord : std::uint8_t {
  kListed = 0,      // all
  kRegistered = 1,  // of one that is there when; in a group with a list no other one is added
  kFacts = 2,       // how it takes calls, and whether it is honest; nothing where it is not there
  kLeft = 3,        // it goes where it is not on a list and has not registered after that time
  kRemoved = 4,     // it goes
};
// The first two mark its group as served. What is said first is written first, so that a goodbye
// outlives the registration before it, and the other way round.
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

// What is not there does not matter.
struct RemovePushRun {
  std::int64_t log_id = 0;
};
struct RemoveExecutorResult {
  std::int64_t id = 0;
};

// A row of the log that goes with no change of a job: how a shard of a run has ended.
struct AddLog {
  LogEntry entry{};
};

// Keeps a version of a definition's script. What the newest has already, without another remark, is
// no new version; a new one whose number is not above the newest gets the next. Nothing happens
// where the definition is not there.
struct PutScript {
  DefinitionId definition{};
  ScriptVersion script{};
  bool is_old = false;  // it comes among those before it; nothing happens if its number is there
};

// An executor group is none any more, its executors are gone; nobody serves it.
struct RemoveExecutorGroup {
  GroupId group{};
};

using Operation =
    std::variant<ChangeWaiting, End, ChangeDefinition, Claim, AddDefinition, AddExecuting, AddJob,
                 CancelExecuting, AddOutput, PutNode, RemoveFeedback, RemoveInbox, RemoveAlarm,
                 RemoveExecutorGroup, RemoveExecutorResult, PutExecutorGroup, ChangeExecutor,
                 PutPushRun, RemovePushRun, PutRoute, PutExecutorResult, PutScript, AddLog, Purge,
                 CleanLog, IndexLog>;

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
  std::int64_t count = 0;  // Purge, CleanLog, IndexLog, RemoveFeedback, ChangeDefinition
  std::int64_t next = 0;   // CleanLog, ChangeDefinition; not kept with the answer of a request

  bool operator==(const Outcome&) const = default;
};

// A numbered request whose operations are in this batch. If its number was stored before, none of
// them is done and the stored answer comes back; otherwise `answer` is stored with the outcomes.
// At most one request of a client stands in a batch for each sequence; two may differ in sequence.
struct NumberedRequest {
  std::int64_t client = 0;
  std::int64_t sequence = 0;
  std::string answer{};
  std::size_t first_operation = 0;  // its operations are a range of Batch::operations
  std::size_t operation_count = 0;
};

struct RequestOutcome {
  bool answered_before = false;
  // answered_before only. Empty answer: the number is older than what is remembered.
  std::string answer{};
  std::vector<Outcome> outcomes{};
};

struct Batch {
  // The fence: this must be the next number of this session's lane, or nothing is done.
  std::int64_t number = 0;
  std::int64_t id_high = 0;  // no id that the loop gave out so far is higher
  bool recovered = false;    // what was missed before this session has its outcomes
  Duration lease{};          // no longer one may be valid by now; 0: as it was
  WallTime now{};
  std::vector<Operation> operations{};
  std::vector<NumberedRequest> requests{};
  // No row of the log with an id up to this comes with this batch or a later one of the session.
  // 0: as it was.
  std::int64_t log_settled = 0;
};

struct Committed {
  std::vector<Outcome> outcomes{};         // one an operation
  std::vector<RequestOutcome> requests{};  // one a request
  Duration rows_took{};                    // its statements, without the COMMIT
};

struct RolledBack {
  Error error{};
  bool fenced = false;                   // another took over: this session must stop deciding
  std::optional<std::size_t> culprit{};  // the operation that can never succeed, if known
};

// The connection broke inside COMMIT. If settle() says that it was committed, this is what came.
struct Unknown {
  Committed if_committed{};
};

using CommitResult = std::variant<Committed, RolledBack, Unknown>;

}  // namespace carillon::jobtracker
