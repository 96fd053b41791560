#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"

// The description of a job. Plain data.
namespace carillon {

// Limits of a job in bytes and numbers. A larger value is an error that names the field.
inline constexpr std::size_t kPayloadBytesMax = 1024 * 1024;
inline constexpr std::size_t kTaskIdBytesMax = 200;
inline constexpr std::size_t kGroupBytesMax = 64;
inline constexpr std::size_t kTextBytesMax = 4096;   // description, owner, a tag, a cron expression
inline constexpr std::size_t kRemarkBytesMax = 512;  // the remark on a version of a script
inline constexpr std::size_t kCommandBytesMax =
    256 * 1024;  // all of argv, all params, or a script's source
// One argument of a command, a shell line or a param: Linux accepts no longer argument
// (MAX_ARG_STRLEN).
inline constexpr std::size_t kArgumentBytesMax = 128 * 1024 - 1;
inline constexpr std::size_t kParamsMax = 256;
inline constexpr std::size_t kChildrenMax = 100;
inline constexpr std::size_t kAddressesMax = 1000;
inline constexpr int kPriorityMax = 999;
inline constexpr int kPriorityDefault = 100;

enum class ScheduleKind : int {
  kNow = 0,
  kAt = 1,
  kCron = 2,
  kEvery = 3,
  kFixedDelay = 4,
  kManual = 5
};

// How to treat local times that a clock change skips or repeats; see docs/guide/scheduling.md.
enum class DstRule : int { kAuto = 0, kSkip = 1, kOnce = 2, kTwice = 3 };

struct Schedule {
  ScheduleKind kind = ScheduleKind::kNow;
  WallTime at{};       // kAt: the trigger time
  std::string cron{};  // kCron: the expression
  std::string tz{};    // kCron: IANA zone; empty: the job tracker's, resolved at submission
  DstRule dst = DstRule::kAuto;  // kCron
  Duration interval{};  // kEvery: the period; kFixedDelay: from one run's end to the next start
  std::optional<std::int64_t> count{};  // kEvery, kFixedDelay: how many runs; empty: no end
  std::optional<WallTime> first{};      // kEvery, kFixedDelay: the first fire; empty: now

  bool operator==(const Schedule&) const = default;
};

// How a job is run.
enum class RunKind : int { kHandler = 0, kCommand = 1, kShell = 2, kScript = 3, kHttp = 4 };

struct HttpRequest {
  std::string method = "GET";
  std::string url{};
  std::map<std::string, std::string> headers{};
  std::string body{};

  bool operator==(const HttpRequest&) const = default;
};

struct Run {
  RunKind kind = RunKind::kHandler;
  std::string handler{};               // kHandler: the name it was registered with
  std::vector<std::string> command{};  // kCommand: program and arguments, no shell between
  std::string shell{};                 // kShell: a line for /bin/sh -c
  std::string script_language{};       // kScript: sh, bash, python, node, php, perl, ruby ...
  std::string script_source{};         // kScript
  std::string script_remark{};         // kScript: a comment on this version, for people
  HttpRequest http{};                  // kHttp

  bool operator==(const Run&) const = default;
};

// What happens when a fire comes due while the definition's previous run has not ended.
enum class Overlap : int {
  kSkip = 0,
  kQueue = 1,
  kQueueOne = 2,       // the newest waits; earlier waiting fires are skipped
  kCancelRunning = 3,  // like kQueueOne, and the previous run is stopped
  kParallel = 4
};

// What happens to fires that were due while no job tracker ran.
enum class MisfirePolicy : int { kFireOnce = 0, kSkip = 1, kFireAll = 2 };

struct Misfire {
  MisfirePolicy policy = MisfirePolicy::kFireOnce;
  std::int64_t max = 1000;                       // kFireAll: the most missed fires that run
  Duration window = std::chrono::hours{24};      // kFireAll: older fires do not run
  Duration threshold = std::chrono::seconds{5};  // a fire later than this counts as missed

  bool operator==(const Misfire&) const = default;
};

enum class RetryBackoff : int { kFixed = 0, kExponential = 1 };

struct RetryPolicy {
  int max = 0;  // the most retries after failures
  RetryBackoff policy = RetryBackoff::kFixed;
  Duration base = std::chrono::seconds{30};  // before the first retry, and after exit status 75
  Duration cap = std::chrono::hours{1};      // kExponential: the longest delay
  double jitter = 0.0;  // 0..1: each delay is changed randomly by up to this share

  bool operator==(const RetryPolicy&) const = default;
};

// A definition that is triggered after each successful run of the parent.
struct Child {
  std::string group = "default";
  std::string task_id{};

  bool operator==(const Child&) const = default;
};

// Succeeds for a W3C trace context: "00-", 32 hex digits, 16 hex digits and flags.
Status check_traceparent(std::string_view traceparent);

inline constexpr std::size_t kAlarmRecipientsMax = 10;
inline constexpr std::size_t kAlarmRecipientBytesMax = 512;
// The alarm recipient for "send no alarm".
inline constexpr std::string_view kNoAlarm = "none";
// Succeeds for an alarm recipient: a mail address, like ops@example.com, or an http or https URL.
Status check_alarm_recipient(std::string_view recipient);

inline constexpr std::size_t kAddressBytesMax = 255;
// Succeeds for the address of an executor, like http://10.0.0.7:9999/.
Status check_address(std::string_view address);

// How a job reaches a task tracker or executor.
enum class Dispatch : int {
  kDefault = 0,  // push for a group of executors, otherwise pull
  kPull = 1,     // task trackers request jobs
  kPush = 2      // a job tracker calls an xxl-job executor
};

// Which of a group's executors is called; docs/guide/xxl-job-executors.md has the rules.
enum class Route : int {
  kFirst = 0,
  kLast = 1,
  kRound = 2,
  kRandom = 3,
  kConsistentHash = 4,
  kLeastFrequentlyUsed = 5,
  kLeastRecentlyUsed = 6,
  kFailover = 7,  // the first that answers a heartbeat
  kBusyover = 8,  // the first idle one
  kShardingBroadcast = 9
};

// What an executor does with a call while the previous call of the job has not ended.
enum class Block : int { kSerialExecution = 0, kDiscardLater = 1, kCoverEarly = 2 };

// Settings of a pushed job.
struct Push {
  Route route = Route::kFirst;
  Block block = Block::kSerialExecution;
  std::vector<std::string> addresses{};  // only these executors; empty: all of the group

  bool operator==(const Push&) const = default;
};

struct JobSpec {
  std::string task_id{};  // the user's key, unique among live jobs of the group; empty: generated
  std::string group = "default";  // the node group that runs it
  std::string description{};
  std::string owner{};
  std::vector<std::string> tags{};
  Schedule schedule{};
  int priority = kPriorityDefault;  // 0..999; smaller runs first
  std::map<std::string, std::string> params{};
  std::string payload{};  // bytes for the run, at most kPayloadBytesMax
  Run run{};
  Dispatch dispatch = Dispatch::kDefault;
  Push push{};  // for kPush only
  Overlap overlap = Overlap::kSkip;
  Misfire misfire{};
  RetryPolicy retries{};
  Duration timeout{};         // 0: none; a run that takes longer is stopped
  Duration start_deadline{};  // 0: none; expires if it does not start within this time after its
                              // trigger time
  std::vector<Child> children{};  // triggered after each successful run; they get none of its data
  bool need_feedback = false;     // send the result of each run to client_group
  std::string client_group{};     // the job clients that share the feedback
  // Recipients of alarms after the last failed try: mail addresses and URLs. Empty: the job
  // tracker's recipients. Only kNoAlarm: no alarm.
  std::vector<std::string> alarm{};
  // W3C trace context of the request that submitted the job, for its runs; empty: none.
  std::string traceparent{};
  bool replace_on_exist = false;  // replaces a waiting or defined job with this task id

  // Checks everything that does not depend on a job tracker's state (its time zones, groups and
  // other jobs). The error names the field and the limit.
  Status validate() const;

  bool operator==(const JobSpec&) const = default;
};

}  // namespace carillon
