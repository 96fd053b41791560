#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What an xxl-job admin and its executors say to each other: JSON over HTTP, in the four dialects
// that its versions speak. A: 2.2. B: 2.3 to 3.2. C: 3.3 and 3.4. D: 3.5. Plain values.
namespace carillon::wire::xxl {

// Header names, in the capitals that some executors insist on.
inline constexpr std::string_view kTokenHeader = "XXL-JOB-ACCESS-TOKEN";
inline constexpr std::string_view kAppNameHeader = "XXL-JOB-APPNAME";
inline constexpr std::string_view kContentType = "application/json;charset=UTF-8";

// Codes of replies and of results.
inline constexpr std::int64_t kSuccess = 200;
inline constexpr std::int64_t kFailure = 500;
inline constexpr std::int64_t kTimedOut = 502;
// With kFailure, what the next task tracker with its folder reports of a run in which an executor
// was killed: to an admin of xxl-job it has failed, to our job tracker it is lost.
inline constexpr std::string_view kKilledBeforeEnd =
    "the executor was killed before this run ended";

// What an executor does with a trigger while the job's one before has not ended.
enum class BlockStrategy : int { kSerial = 0, kDiscardLater = 1, kCoverEarly = 2 };

// /run, and /trigger in D: have a job run. Answered when it is queued.
struct RunCall {
  std::int64_t job_id = 0;
  std::string handler{};  // of BEAN
  std::string param{};
  BlockStrategy block = BlockStrategy::kSerial;
  std::int64_t timeout_s = 0;  // 0 or less: none
  std::int64_t log_id = 0;     // of this one trigger; the result is for it
  std::int64_t log_time_ms = 0;
  std::string glue_type = "BEAN";
  std::string glue_source{};
  std::int64_t glue_updated_ms = 0;  // the version of the source
  std::int64_t shard_index = 0;
  std::int64_t shard_total = 1;
  bool operator==(const RunCall&) const = default;
};

// /idleBeat and /kill.
struct JobCall {
  std::int64_t job_id = 0;
  bool operator==(const JobCall&) const = default;
};

// /log: lines of a trigger's log file, from this one on.
struct LogCall {
  std::int64_t log_id = 0;
  std::int64_t log_time_ms = 0;  // the folder is that day's
  std::int64_t from_line = 1;
  bool operator==(const LogCall&) const = default;
};

// Its answer.
struct LogPart {
  std::int64_t from_line = 1;
  std::int64_t to_line = 0;  // below from_line: there was nothing
  std::string text{};        // each line with its line feed
  bool is_end = false;       // nothing will follow
  bool operator==(const LogPart&) const = default;
};

// /api/registry and /api/registryRemove.
struct Registration {
  std::string group = "EXECUTOR";
  std::string app_name{};
  std::string address{};  // as the admin is to call the executor; never rewritten
  bool operator==(const Registration&) const = default;
};

// How a trigger ended: an element of /api/callback.
struct RunResult {
  std::int64_t log_id = 0;
  std::int64_t log_time_ms = 0;  // for an official admin; not read
  std::int64_t code = kSuccess;
  std::optional<std::string> message{};
  bool operator==(const RunResult&) const = default;
};

// /api/addJob, updateJob, removeJob, startJob, stopJob and triggerJob, of D; each gives some of it.
struct ManagedJob {
  std::int64_t id = 0;
  std::string name{};
  std::string author{};
  std::optional<std::string> alarm_email{};  // with commas between
  std::string schedule_type{};               // NONE, CRON, FIX_RATE
  std::string schedule_conf{};               // a cron expression, or seconds
  std::string misfire{};
  std::string route{};
  std::string handler{};
  std::optional<std::string> param{};
  std::string block{};
  std::int64_t timeout_s = 0;
  std::int64_t retries = 0;
  std::string glue_type{};
  std::string glue_source{};
  std::string glue_remark{};
  std::string addresses{};  // of triggerJob; with commas between
  bool operator==(const ManagedJob&) const = default;
};

// The answer to anything; the parts that are the same for all.
struct Reply {
  std::int64_t code = kSuccess;
  std::string message{};
  bool ok() const { return code == kSuccess; }
  bool operator==(const Reply&) const = default;
};

}  // namespace carillon::wire::xxl
