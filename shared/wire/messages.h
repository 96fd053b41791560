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
#include "shared/wire/worker_messages.h"

// The messages between the programs; docs/reference/protocol.md describes them for people.
//
// A frame is a MessagePack array [version, type, correlation, body]; the body is a map. An answer
// has the correlation of its request. Unknown fields of a body are ignored.
namespace carillon::wire {

inline constexpr int kProtocolVersion = 1;
inline constexpr std::size_t kFrameBytesMax = 4 * 1024 * 1024;
inline constexpr std::size_t kSubmitJobsMax = 1000;  // jobs in one Submit

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
  kReleaseNode = 12,  // ends both
  kSetPriority = 13,  // of a waiting job
  kSilence = 14,      // no alarms about a group until a time
  kTestAlarm = 15,    // sends a test message
  kTag = 16,          // adds a tag to a job
  kUntag = 17         // removes it
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
  // kTrigger: restricts the job's executors to these; kAddExecutors: the executors; kTestAlarm: the
  // recipient.
  std::vector<std::string> addresses{};
  std::optional<std::string> token{};  // kAddExecutors: for calls; none: unchanged
  std::int32_t parts = 0;              // kSplitGroup: number of partitions: 2, 4, 8, 16, 32 or 64
  // kCleanHistory: rows with ids after `after` (0: from the first) and before `before` (0: to the
  // last) that ended before `until_us` (0: any time). kSilence: its end; 0: it ends now.
  std::int64_t after = 0;
  std::int64_t before = 0;
  std::int64_t until_us = 0;
  // kSetScript: language (empty: unchanged), comment, and version. Version 0: used from now on;
  // otherwise the number of an earlier version of another system, which is only stored.
  std::string language{};
  std::string remark{};  // kTag, kUntag: the tag
  std::int64_t script_version = 0;
  std::int64_t fingerprint = 0;  // as in Submit
  std::string node{};            // kDrainNode, kIsolateNode, kReleaseNode: the task tracker's name
  std::int32_t priority = -1;    // kSetPriority: 0 to kPriorityMax
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
  std::int64_t until_us = 0;  // counts, figures, history, calendar, fires: before this time
  std::int64_t limit = 0;     // 0: the job tracker's default
  std::string after{};  // `next` of the previous answer; script: a version, empty: the current one
  std::vector<std::string> states{};  // history, list: only rows with these states; empty: all
  std::string by{};                   // audit: only rows of this principal; empty: all
  // Only rows that contain it, in any case; empty: all. sources: in the script; history: in the
  // task id, node or message; list: in the task id, description, owner or tags.
  std::string text{};
  std::string task_prefix{};         // history, list: only tasks whose ids begin so
  std::vector<std::string> kinds{};  // list: only definitions of these kinds; empty: all
  std::string tag{};                 // list: only definitions with it; empty: all
  std::string owner{};               // list: only definitions of this owner; empty: all
  std::int64_t step_us = 0;          // figures: sums of all groups for each such span; 0: minutes
};

using Field = std::variant<std::monostate, bool, std::int64_t, double, std::string>;
using Row = std::vector<std::pair<std::string, Field>>;

struct Rows {
  std::vector<Row> rows{};
  std::string next{};  // empty: this was the last page
};

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
