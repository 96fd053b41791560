#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "carillon/ids.h"
#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "carillon/time.h"

// The messages between the programs; docs/reference/protocol.md describes them for people.
//
// A frame is a MessagePack array [version, type, correlation, body]; the body is a map. An answer
// has the correlation of its request. Unknown fields of a body are ignored.
namespace carillon::wire {

inline constexpr int kProtocolVersion = 1;
inline constexpr std::size_t kFrameBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kSubmitJobsMax = 1000;  // jobs in one Submit
inline constexpr std::size_t kReportResultsMax = 4096;
inline constexpr std::size_t kOutputBytesMax = 1024 * 1024;  // bytes of one Output message

// The number of a changing request: each client process draws `client` randomly, `sequence` counts
// from 1. At most kRequestWindow requests may be unanswered. A resend gets the first answer.
struct RequestNumber {
  std::int64_t client = 0;  // 1 .. 2^59-1
  std::int64_t sequence = 0;

  Status validate() const {
    if (client > 0 && client < (std::int64_t{1} << 59) && sequence > 0) return {};
    return Error{ErrorCode::kInvalidArgument,
                 "request number " + std::to_string(client) + "/" + std::to_string(sequence) +
                     " is out of range (client 1 to 2^59-1, sequence from 1)"};
  }
  bool operator==(const RequestNumber&) const = default;
};
inline constexpr std::int64_t kRequestWindow = 16;

// ---- from a job client ----

struct Submit {
  RequestNumber request{};
  std::vector<JobSpec> jobs{};
  bool suspended = false;  // from the start: they run after a resume
  // Of what is asked for, chosen by the client: the answer has the first one of this number, so
  // that a client notices that it has used the number for something else. 0: none.
  std::int64_t fingerprint = 0;
};

enum class SubmitStatus : int { kAccepted = 0, kDuplicate = 1, kRejected = 2, kStored = 3 };

struct SubmitAnswer {
  std::string task_id{};
  std::string group{};
  JobId job_id{};  // of the job, or of a definition's next occurrence; 0 if not accepted
  SubmitStatus status = SubmitStatus::kRejected;
  std::string tz{};       // the time zone that was stored with a cron job
  std::string reason{};   // why it was not accepted
  std::string warning{};  // set for an accepted job that looks wrong
};

struct Submitted {
  std::vector<SubmitAnswer> answers{};  // one per job, in order
  std::int64_t fingerprint = 0;         // of the request that was answered first
};

enum class Verb : int {
  kCancel = 0,
  kSuspend = 1,
  kResume = 2,
  kTrigger = 3,
  kKill = 4,
  kAddExecutors = 5,  // to a group, by hand
  kSplitGroup = 6,    // into partitions
  kCleanHistory = 7,  // of a task, a group, or all
  kSetScript = 8,     // of a definition
  kRemoveGroup = 9,   // of an executor group without jobs
  kDrainNode = 10,    // a task tracker gets no more jobs
  kIsolateNode = 11,  // a task tracker gets a job a minute
  kReleaseNode = 12   // ends both
};

constexpr bool is_about_node(Verb verb) {
  return verb == Verb::kDrainNode || verb == Verb::kIsolateNode || verb == Verb::kReleaseNode;
}

struct Act {
  RequestNumber request{};
  Verb verb = Verb::kCancel;
  std::string group{};
  std::string task_id{};  // empty if job_id names the job (kKill)
  JobId job_id{};
  // kTrigger: replaces the job's own payload; kSetScript: the source
  std::optional<std::string> payload{};
  bool force = false;  // kTrigger: ignores the overlap rule
  // kTrigger: restricts the job's executors to these; kAddExecutors: the executors.
  std::vector<std::string> addresses{};
  std::optional<std::string> token{};  // kAddExecutors: for calls; none: unchanged
  std::int32_t parts = 0;              // kSplitGroup: number of partitions: 2, 4, 8, 16, 32 or 64
  // kCleanHistory: rows with ids after `after` (0: from the first) and before `before` (0: to the
  // last) that ended before `until_us` (0: any time).
  std::int64_t after = 0;
  std::int64_t before = 0;
  std::int64_t until_us = 0;
  // kSetScript: language (empty: unchanged), comment, and version. Version 0: used from now on;
  // otherwise the number of an earlier version of another system, which is only stored.
  std::string language{};
  std::string remark{};
  std::int64_t script_version = 0;
  std::int64_t fingerprint = 0;  // as in Submit
  std::string node{};            // kDrainNode, kIsolateNode, kReleaseNode: the task tracker's name
};

struct Acted {
  JobId job_id{};                // kTrigger: the new run
  std::string message{};         // what happened, as text for people
  std::int64_t count = 0;        // kCleanHistory: number of deleted rows
  std::int64_t next = 0;         // kCleanHistory: where to continue; 0: complete
  std::int64_t fingerprint = 0;  // as in Submitted
};

// A query for rows. docs/reference/protocol.md lists the fields of a row for each `what`.
struct Query {
  std::string what{};  // list, waiting, history ...: see the page
  std::string group{};
  std::string task_id{};
  JobId job_id{};
  std::int64_t since_us = 0;  // from this time on; history: ended later. 0: no limit
  std::int64_t until_us = 0;  // counts, figures: before this time
  std::int64_t limit = 0;     // 0: the job tracker's default
  std::string after{};  // `next` of the previous answer; script: a version, empty: the current one
  std::vector<std::string> states{};  // history: only rows with these states; empty: all
  std::string by{};                   // audit: only rows of this principal; empty: all
  std::string text{};  // sources: only those that contain it, in any case; empty: all
};

using Field = std::variant<std::monostate, bool, std::int64_t, double, std::string>;
using Row = std::vector<std::pair<std::string, Field>>;

struct Rows {
  std::vector<Row> rows{};
  std::string next{};  // empty: this was the last page
};

// ---- from a task tracker ----

// One attempt of a job.
struct AttemptId {
  JobId job_id{};
  std::int32_t attempt = 0;
  auto operator<=>(const AttemptId&) const = default;
};

// A job that a task tracker holds: received, and its result is not confirmed.
struct Held {
  AttemptId id{};
  bool started = false;
};

struct Register {
  SessionId session{};  // random, drawn by the task tracker at its start
  std::string name{};
  std::string group{};
  std::int32_t threads = 1;
  std::map<std::string, std::string> labels{};
  std::vector<std::string> allow{};  // handler command shell script http
  std::string version{};
  std::vector<Held> holding{};  // after a reconnect
  std::string address{};        // location for people: "host-1 pid 4242"
  std::int64_t number = 0;      // counts from 1; 0: not given
  bool waits = false;           // supports HandedJob::wait
  std::int64_t pulls = 0;       // number of the last Pull before
};

// A partition of a node group that the answering job tracker owns.
struct OwnedPartition {
  std::int32_t part = 0;
  std::int64_t epoch = 0;  // of two claims, the higher one is valid
};

struct Registered {
  Duration lease{};                  // a session without a heartbeat for this time is dead
  Duration pull_interval{};          // longest interval between pulls
  std::int64_t tracker_session = 0;  // it changes when the job tracker restarts
  // For a split group: its number of partitions, and those of this job tracker. The task tracker
  // registers with the other job trackers for the others.
  std::int32_t parts = 0;
  std::vector<OwnedPartition> owned{};
};

// Renews the lease. Sets the credit: up to `window` jobs in hand-outs above `handout_seen`.
struct Pull {
  SessionId session{};
  std::int64_t number = 0;                     // counts from 1
  std::int64_t handout_seen = 0;               // highest HandOut::number received
  std::int64_t answered = 0;                   // highest answered Pull::number
  std::int32_t window = 0;                     // free threads plus prefetch
  std::optional<std::vector<Held>> holding{};  // sent about once a second: all held jobs
  // Why it takes no jobs, for people: "cpu 97%"; empty: it is not overloaded.
  std::string overload{};
  bool draining = false;  // takes no more jobs, and stops when its runs have ended
};

struct Pulled {
  std::int64_t number = 0;
};

struct HandedJob {
  AttemptId id{};
  std::string task_id{};
  WallTime trigger_time{};
  std::string spec{};  // an encoded JobSpec, see codec.h
  Duration wait{};     // after it was sent; it must not start earlier
};

struct HandOut {
  SessionId session{};
  std::int64_t number = 0;  // grows in a worker's session, also across restarts of the job tracker
  std::int64_t pull = 0;    // the newest known Pull::number when it was sent
  std::vector<HandedJob> jobs{};
  std::int64_t tracker_session = 0;  // see Registered: the sender's session
};

enum class RunOutcome : int {
  kSucceeded = 0,
  kFailed = 1,     // failed without further retries
  kException = 2,  // a failure, retried while retries remain
  kLater = 3,      // again after `later`; does not count as a failure
  kTimedOut = 4,   // a failure
  kKilled = 5,     // stopped on request
  // Not run, because another run of its job had not ended; permanent, not a failure.
  kDiscarded = 6,
};

struct RunResult {
  AttemptId id{};
  RunOutcome outcome = RunOutcome::kSucceeded;
  std::optional<std::int32_t> exit_code{};
  std::string message{};
  WallTime started_at{};
  WallTime ended_at{};
  Duration later{};
  std::int32_t bucket = -1;  // of its task id, see shared/job/bucket.h; -1: unknown
};

struct Report {
  SessionId session{};
  std::vector<RunResult> results{};
  // The session that ran them, if it was an earlier one with results on disk. 0: `session`.
  SessionId origin{};
};

// Returns jobs that were handed out but not started, so that others get them.
struct GiveBack {
  SessionId session{};
  std::vector<AttemptId> jobs{};
};

// The job tracker has processed these results: forget them.
struct Reported {
  std::vector<AttemptId> done{};
};

enum class Stream : int { kStdout = 1, kStderr = 2, kLog = 3 };

struct OutputChunk {
  AttemptId id{};
  std::int64_t sequence = 0;  // counts from 1 per attempt
  Stream stream = Stream::kStdout;
  WallTime at{};
  std::string bytes{};
};

struct Output {
  SessionId session{};
  std::vector<OutputChunk> chunks{};
  SessionId origin{};  // the session that ran them, if another one; 0: this session
};

struct OutputTaken {
  std::int64_t chunks = 0;  // number of accepted chunks; all, unless the job tracker is full
};

// A stop request of the job tracker for runs.
struct Kill {
  std::vector<AttemptId> jobs{};
  std::string reason{};
};

// A task tracker without jobs signs off.
struct Bye {
  SessionId session{};
  std::string group{};  // as in its Register
};

// The answer to a Bye.
struct Gone {};

// ---- feedback, from a job client ----

inline constexpr std::size_t kFeedbackMax = 500;  // results in one Feedback

// Requests results for a client group, and acknowledges earlier ones. The answer comes when there
// are results, or empty after a while. Results that are not named here are delivered again.
struct FetchFeedback {
  std::string client_group{};
  std::int64_t listener = 0;         // random, drawn by each listener; never 0
  std::vector<std::int64_t> done{};  // acknowledged: not delivered again
  bool refused = false;              // the handler rejected the first one that is not done: pause
  std::int64_t limit = 0;            // 0: none now, but the listener keeps its results
};

// The end of a job.
struct FeedbackEntry {
  std::int64_t id = 0;
  JobId job_id{};
  std::string task_id{};
  std::string group{};
  std::int32_t attempt = 0;
  std::string state{};  // as in the history
  WallTime trigger_time{};
  WallTime started_at{};
  WallTime ended_at{};
  std::string node{};
  std::optional<std::int32_t> exit_code{};
  std::string message{};
};

struct Feedback {
  std::vector<FeedbackEntry> results{};  // in the order of their ends
};

// ---- redirect, from a job tracker ----

// A redirect. Nothing was done; send the message unchanged to that job tracker. Without an address,
// the message concerns node groups of several job trackers: send it in parts with new numbers, one
// for each node group, or for a split group one for each partition.
struct Redirect {
  std::string address{};   // "tcp://host-2:35001"
  std::int32_t parts = 0;  // number of partitions of a split group; see shared/job/bucket.h
};

// ---- access, from an administrator ----

// Adds or changes a principal that the store keeps. A repetition has the same effect.
struct PutPrincipal {
  std::string kind{};  // key, token, user; for sign-in: link, session, secret
  std::string name{};
  std::string role{};                 // viewer, operator, editor, worker, admin
  std::vector<std::string> groups{};  // patterns of node groups; with no role: both unchanged
  // key: the public CURVE key; token: its SHA-256 in hex; user: the hash of the password. Empty:
  // unchanged.
  std::string secret{};
  std::int64_t expires_us = 0;  // 0: never
  bool replaces = false;        // otherwise an existing one with another secret is an error
  std::string language{};       // user: of the console
};

// Its connections end within seconds.
struct RemovePrincipal {
  std::string kind{};
  std::string name{};
};

// ---- in both directions ----

struct ErrorReply {
  Error error{};
};

using Message =
    std::variant<ErrorReply, Submit, Submitted, Act, Acted, Query, Rows, Register, Registered, Pull,
                 Pulled, HandOut, Report, GiveBack, Reported, Output, OutputTaken, Kill, Bye, Gone,
                 FetchFeedback, Feedback, Redirect, PutPrincipal, RemovePrincipal>;

struct OnBehalf {
  std::string kind{};
  std::string name{};
  std::string role{};
  std::vector<std::string> groups{};
  std::string address{};  // of its machine

  bool operator==(const OnBehalf&) const = default;
};

// On the wire, a message's type is its position in this list, which grows only at its end.
struct Envelope {
  std::uint64_t correlation = 0;
  Message message{};
  // The principal that a request is for, if its sender passes on a request of another one. Only
  // job trackers may do so.
  std::optional<OnBehalf> on_behalf{};
};

}  // namespace carillon::wire
