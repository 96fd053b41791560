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

// What the programs say to each other; docs/reference/protocol.md describes the same for people.
//
// A frame is one MessagePack array [version, type, correlation, body], the body a map. A request's
// answer carries the request's correlation. Unknown fields of a body are ignored.
namespace carillon::wire {

inline constexpr int kProtocolVersion = 1;
inline constexpr std::size_t kFrameBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kSubmitJobsMax = 1000;  // jobs in one Submit
inline constexpr std::size_t kReportResultsMax = 4096;
inline constexpr std::size_t kOutputBytesMax = 1024 * 1024;  // bytes of one Output message

// A changing request's number: `client` is drawn at random by each client process, `sequence`
// counts from 1. At most kRequestWindow may be unanswered. A resend gets the first answer.
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
  bool suspended = false;  // from the beginning: they run when somebody resumes them
};

enum class SubmitStatus : int { kAccepted = 0, kDuplicate = 1, kRejected = 2, kStored = 3 };

struct SubmitAnswer {
  std::string task_id{};
  std::string group{};
  JobId job_id{};  // of the job, or of a definition's next occurrence; 0 when not accepted
  SubmitStatus status = SubmitStatus::kRejected;
  std::string tz{};       // the zone that a cron job was stored with
  std::string reason{};   // why not accepted
  std::string warning{};  // accepted, but something looks wrong
};

struct Submitted {
  std::vector<SubmitAnswer> answers{};  // one a job, in order
};

enum class Verb : int {
  kCancel = 0,
  kSuspend = 1,
  kResume = 2,
  kTrigger = 3,
  kKill = 4,
  kAddExecutors = 5,  // to a group, by hand
  kSplitGroup = 6,    // into parts
  kCleanHistory = 7,  // of a task, a group, or all
  kSetScript = 8,     // of a definition
  kRemoveGroup = 9    // of executors, without jobs
};

struct Act {
  RequestNumber request{};
  Verb verb = Verb::kCancel;
  std::string group{};
  std::string task_id{};  // empty where job_id names the job (kKill)
  JobId job_id{};
  // kTrigger: instead of the job's own; kSetScript: its source
  std::optional<std::string> payload{};
  bool force = false;  // kTrigger: whatever overlap says
  // kTrigger: of the job's executors, only these; kAddExecutors: who they are.
  std::vector<std::string> addresses{};
  std::optional<std::string> token{};  // kAddExecutors: for calls; none: as it is
  std::int32_t parts = 0;              // kSplitGroup: so many: 2, 4, 8, 16, 32 or 64
  // kCleanHistory: of rows after this one (0: from the first) and before that (0: to the last),
  // what ended before `until_us` (0: whenever).
  std::int64_t after = 0;
  std::int64_t before = 0;
  std::int64_t until_us = 0;
  // kSetScript: empty: as it is; what the version is; 0: it is used from now on, otherwise the
  // number of a version that was used elsewhere before, and is only kept.
  std::string language{};
  std::string remark{};
  std::int64_t script_version = 0;
};

struct Acted {
  JobId job_id{};          // kTrigger: the occurrence made
  std::string message{};   // what happened, for a person
  std::int64_t count = 0;  // kCleanHistory: rows that went
  std::int64_t next = 0;   // kCleanHistory: where to go on; 0: that was all
};

// Asks for rows. Which fields a row has stands in docs/reference/protocol.md, by `what`.
struct Query {
  std::string what{};  // list waiting executing history show nodes groups stats output job
                       // counts scripts script
  std::string group{};
  std::string task_id{};
  JobId job_id{};
  std::int64_t since_us = 0;  // history: ended later than this; 0: no bound. counts: from here
  std::int64_t until_us = 0;  // counts: up to here
  std::int64_t limit = 0;     // 0: the tracker's default
  std::string after{};  // the `next` of the answer before; script: a version, empty: that in use
  std::vector<std::string> states{};  // history: only rows that ended like this; empty: all
};

using Field = std::variant<std::monostate, bool, std::int64_t, double, std::string>;
using Row = std::vector<std::pair<std::string, Field>>;

struct Rows {
  std::vector<Row> rows{};
  std::string next{};  // empty: that was all
};

// ---- from a task tracker ----

// One try of one job.
struct AttemptId {
  JobId job_id{};
  std::int32_t attempt = 0;
  auto operator<=>(const AttemptId&) const = default;
};

// What a task tracker holds: it was handed it, and its result was not confirmed yet.
struct Held {
  AttemptId id{};
  bool started = false;
};

struct Register {
  SessionId session{};  // drawn at random by the task tracker, once a life
  std::string name{};
  std::string group{};
  std::int32_t threads = 1;
  std::map<std::string, std::string> labels{};
  std::vector<std::string> allow{};  // handler command shell script http
  std::string version{};
  std::vector<Held> holding{};  // after a reconnect
  std::string address{};        // where it runs, for people: "host-1 pid 4242"
  std::int64_t number = 0;      // counts from 1; 0: not said
  bool waits = false;           // for the time that a HandedJob says
  std::int64_t pulls = 0;       // so many Pulls were sent before, by their numbers
};

// A part of a node group that the answering job tracker looks after.
struct OwnedPart {
  std::int32_t part = 0;
  std::int64_t epoch = 0;  // of two that say so, the one with the higher does
};

struct Registered {
  Duration lease{};                  // a session not heard of for so long is dead
  Duration pull_interval{};          // pull at least this often
  std::int64_t tracker_session = 0;  // another one than before: the job tracker was restarted
  // Of a group that was split: how many parts it has, and those of this job tracker. The others are
  // to be had from others, where a task tracker registers likewise.
  std::int32_t parts = 0;
  std::vector<OwnedPart> owned{};
};

// Renews the lease, and replaces the credit: up to `window` jobs in hand-outs above `handout_seen`.
struct Pull {
  SessionId session{};
  std::int64_t number = 0;                     // counts from 1
  std::int64_t handout_seen = 0;               // highest HandOut::number received
  std::int64_t answered = 0;                   // highest Pull::number that was answered
  std::int32_t window = 0;                     // free threads + prefetch
  std::optional<std::vector<Held>> holding{};  // given about once a second: everything held
  std::string overload{};  // why it wants none, for people: "cpu 97%"; empty: it is not too busy
  bool draining = false;   // it wants none any more, and ends when what runs has ended
};

struct Pulled {
  std::int64_t number = 0;
};

struct HandedJob {
  AttemptId id{};
  std::string task_id{};
  WallTime trigger_time{};
  std::string spec{};  // an encoded JobSpec, see codec.h
  Duration wait{};     // from its sending on: it must not begin before
};

struct HandOut {
  SessionId session{};
  std::int64_t number = 0;  // grows in a worker's session, over restarts of the tracker too
  std::int64_t pull = 0;    // the newest Pull::number known when it was sent
  std::vector<HandedJob> jobs{};
  std::int64_t tracker_session = 0;  // as of Registered: whose hand-out it is
};

enum class RunOutcome : int {
  kSucceeded = 0,
  kFailed = 1,     // for good, whatever retries remain
  kException = 2,  // counts as a failure, retried while retries remain
  kLater = 3,      // again after `later`, no failure counted
  kTimedOut = 4,   // counts as a failure
  kKilled = 5,     // stopped because it was told to
  kDiscarded = 6,  // not run, as another run of its job had not ended; for good, and no failure
};

struct RunResult {
  AttemptId id{};
  RunOutcome outcome = RunOutcome::kSucceeded;
  std::optional<std::int32_t> exit_code{};
  std::string message{};
  WallTime started_at{};
  WallTime ended_at{};
  Duration later{};
  std::int32_t bucket =
      -1;  // of its task id: to whose part of a split group it belongs; -1: unsaid
};

struct Report {
  SessionId session{};
  std::vector<RunResult> results{};
  // The session that ran them, where it was another one: an earlier life of a task tracker, whose
  // results lay on its disk. 0: `session`.
  SessionId origin{};
};

// Jobs that were handed out, but not started, and shall be given to somebody else.
struct GiveBack {
  SessionId session{};
  std::vector<AttemptId> jobs{};
};

// The tracker has these results (or knows better): forget them.
struct Reported {
  std::vector<AttemptId> done{};
};

enum class Stream : int { kStdout = 1, kStderr = 2, kLog = 3 };

struct OutputChunk {
  AttemptId id{};
  std::int64_t sequence = 0;  // counts from 1 in an attempt
  Stream stream = Stream::kStdout;
  WallTime at{};
  std::string bytes{};
};

struct Output {
  SessionId session{};
  std::vector<OutputChunk> chunks{};
};

struct OutputTaken {
  std::int64_t chunks = 0;  // so many of the message's, all of them unless the tracker is full
};

// The tracker tells a worker to stop runs.
struct Kill {
  std::vector<AttemptId> jobs{};
  std::string reason{};
};

// A task tracker that has finished everything goes.
struct Bye {
  SessionId session{};
  std::string group{};  // as in its Register
};

// The answer to a Bye, and to nothing else.
struct Gone {};

// ---- feedback, from a job client ----

inline constexpr std::size_t kFeedbackMax = 500;  // results in one Feedback

// Asks for the results that wait for a client group, and says what became of those that this
// listener was given before. Its answer comes when there are some, or empty after a while. What it
// was given and does not name here goes out again.
struct FetchFeedback {
  std::string client_group{};
  std::int64_t listener = 0;         // drawn at random by each who listens; never 0
  std::vector<std::int64_t> done{};  // acknowledged: they are never sent again
  bool refused = false;              // the first that is not done could not be taken: wait a bit
  std::int64_t limit = 0;            // 0: none now, but what it holds stays its own
};

// How a job has ended.
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

// ---- from a job tracker to whoever asks about what another one looks after ----

// Nothing was done; it is to be sent to that job tracker, as it is. Without an address: the message
// is about node groups of several job trackers, and is to be sent in parts, one for each node
// group, numbered anew; where it is about one group that was split, one for each part of that.
struct Elsewhere {
  std::string address{};   // "tcp://host-2:35001"
  std::int32_t parts = 0;  // of the node group, if it was split; see shared/job/bucket.h
};

// ---- either way ----

struct ErrorReply {
  Error error{};
};

using Message = std::variant<ErrorReply, Submit, Submitted, Act, Acted, Query, Rows, Register,
                             Registered, Pull, Pulled, HandOut, Report, GiveBack, Reported, Output,
                             OutputTaken, Kill, Bye, Gone, FetchFeedback, Feedback, Elsewhere>;

// On the wire a message's type is its place in this list, which only grows at its end.
struct Envelope {
  std::uint64_t correlation = 0;
  Message message{};
};

}  // namespace carillon::wire
