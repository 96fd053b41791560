#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "carillon/ids.h"
#include "carillon/time.h"

// The messages between task trackers and job trackers; see messages.h.
namespace carillon::wire {

inline constexpr std::size_t kReportResultsMax = 4096;
inline constexpr std::size_t kOutputBytesMax = 1024 * 1024;  // bytes of one Output message

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

}  // namespace carillon::wire
