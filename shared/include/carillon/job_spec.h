#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"

// What a user asks for. Plain data: copy it, compare it, send it.
namespace carillon {

// Limits of a job. More is refused by name.
inline constexpr std::size_t kPayloadBytesMax = 1024 * 1024;
inline constexpr std::size_t kTaskIdBytesMax = 200;
inline constexpr std::size_t kGroupBytesMax = 64;
inline constexpr std::size_t kTextBytesMax = 4096;   // description, owner, a tag, a cron expression
inline constexpr std::size_t kRemarkBytesMax = 512;  // of a version of a script
inline constexpr std::size_t kCommandBytesMax =
    256 * 1024;  // all of argv, all params or script source together
// One argument of a command, a shell line, a param: no system call passes more to a program.
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

// What happens to local times that a change of the clocks skips or repeats; see
// docs/guide/scheduling.md.
enum class DstRule : int { kAuto = 0, kSkip = 1, kOnce = 2, kTwice = 3 };

struct Schedule {
  ScheduleKind kind = ScheduleKind::kNow;
  WallTime at{};       // kAt: when
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
  std::string script_remark{};         // kScript: what this version of it is, for people
  HttpRequest http{};                  // kHttp

  bool operator==(const Run&) const = default;
};

// What happens when a fire comes due while the definition's previous run has not ended.
enum class Overlap : int {
  kSkip = 0,
  kQueue = 1,
  kQueueOne = 2,       // the latest waits, what waited before it is skipped
  kCancelRunning = 3,  // the same, and the run before is stopped
  kParallel = 4
};

// What happens to fires that came while no job tracker was there to see them.
enum class MisfirePolicy : int { kFireOnce = 0, kSkip = 1, kFireAll = 2 };

struct Misfire {
  MisfirePolicy policy = MisfirePolicy::kFireOnce;
  std::int64_t max = 1000;                   // kFireAll: at most so many of the missed fires run
  Duration window = std::chrono::hours{24};  // kFireAll: older ones do not run
  Duration threshold = std::chrono::seconds{5};  // later than this after its time counts as missed

  bool operator==(const Misfire&) const = default;
};

enum class RetryBackoff : int { kFixed = 0, kExponential = 1 };

struct RetryPolicy {
  int max = 0;  // failures after which it is tried again
  RetryBackoff policy = RetryBackoff::kFixed;
  Duration base = std::chrono::seconds{30};  // before the first retry, and after exit status 75
  Duration cap = std::chrono::hours{1};      // kExponential: no wait is longer
  double jitter = 0.0;  // 0..1: each wait is changed by up to this share, at random

  bool operator==(const RetryPolicy&) const = default;
};

// A definition that is triggered each time a run of another job has succeeded.
struct Child {
  std::string group = "default";
  std::string task_id{};

  bool operator==(const Child&) const = default;
};

inline constexpr std::size_t kAlarmRecipientsMax = 10;
inline constexpr std::size_t kAlarmRecipientBytesMax = 512;
// The alarm recipient that stands for nobody.
inline constexpr std::string_view kNoAlarm = "none";
// Whether an alarm can go there: a mail address, "ops@example.com", or a URL of http or https.
Status check_alarm_recipient(std::string_view recipient);

inline constexpr std::size_t kAddressBytesMax = 255;
// Whether an executor can be called at it: "http://10.0.0.7:9999/".
Status check_address(std::string_view address);

// How a job reaches who runs it.
enum class Dispatch : int {
  kDefault = 0,  // as its group's members take their work
  kPull = 1,     // task trackers ask for it
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
  kFailover = 7,  // the first that answers
  kBusyover = 8,  // the first that is idle
  kShardingBroadcast = 9
};

// What an executor does with a call while the job's one before has not ended there.
enum class Block : int { kSerialExecution = 0, kDiscardLater = 1, kCoverEarly = 2 };

// Of a job that is pushed.
struct Push {
  Route route = Route::kFirst;
  Block block = Block::kSerialExecution;
  std::vector<std::string> addresses{};  // these and no others; empty: the group's

  bool operator==(const Push&) const = default;
};

struct JobSpec {
  std::string
      task_id{};  // the user's own key, unique in its group while it lives; empty: one is made
  std::string group = "default";  // which task trackers may run it
  std::string description{};
  std::string owner{};
  std::vector<std::string> tags{};
  Schedule schedule{};
  int priority = kPriorityDefault;  // 0..999, smaller runs first
  std::map<std::string, std::string> params{};
  std::string payload{};  // opaque bytes for the run, at most kPayloadBytesMax
  Run run{};
  Dispatch dispatch = Dispatch::kDefault;
  Push push{};  // kPush only
  Overlap overlap = Overlap::kSkip;
  Misfire misfire{};
  RetryPolicy retries{};
  Duration timeout{};             // 0: none; a run that takes longer is stopped
  Duration start_deadline{};      // 0: none; not started so long after its trigger time: it expires
  std::vector<Child> children{};  // triggered when a run succeeds; nothing is passed on to them
  bool need_feedback = false;     // the clients of client_group are told how each run ends
  std::string client_group{};     // the job clients that share what they are told
  // Who is told when it has failed for good: mail addresses and URLs. Empty: whom the job tracker
  // tells; only kNoAlarm: nobody.
  std::vector<std::string> alarm{};
  bool replace_on_exist = false;  // a job with this task id that is waiting or defined is replaced

  // Whether a job tracker can take it, apart from what only the tracker knows (zone, groups,
  // other jobs). The error names the field and the limit.
  Status validate() const;

  bool operator==(const JobSpec&) const = default;
};

}  // namespace carillon
