#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The messages between an xxl-job admin and its executors: JSON over HTTP, in the four dialects of
// its versions. A: 2.2. B: 2.3 to 3.2. C: 3.3 and 3.4. D: 3.5. Plain values.
namespace carillon::wire::xxl {

// Header names; some executors require these capitals.
inline constexpr std::string_view kTokenHeader = "XXL-JOB-ACCESS-TOKEN";
inline constexpr std::string_view kAppNameHeader = "XXL-JOB-APPNAME";
inline constexpr std::string_view kContentType = "application/json;charset=UTF-8";

// Codes of replies and of results.
inline constexpr std::int64_t kSuccess = 200;
inline constexpr std::int64_t kFailure = 500;
inline constexpr std::int64_t kTimedOut = 502;
// With kFailure: the report for a run during which an executor was killed, sent by the next task
// tracker with its folder. For an xxl-job admin the run failed, for our job tracker it is lost.
inline constexpr std::string_view kKilledBeforeEnd =
    "the executor was killed before this run ended";

// What an executor does with a trigger while the previous one of the job has not ended.
enum class BlockStrategy : int { kSerial = 0, kDiscardLater = 1, kCoverEarly = 2 };

// /run, and /trigger in D: runs a job. Answered when it is queued.
struct RunCall {
  std::int64_t job_id = 0;
  std::string handler{};  // for BEAN
  std::string param{};
  BlockStrategy block = BlockStrategy::kSerial;
  std::int64_t timeout_s = 0;  // 0 or less: none
  std::int64_t log_id = 0;     // of this trigger; the result has the same
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

// /log: lines of a trigger's log file, from this line on.
struct LogCall {
  std::int64_t log_id = 0;
  std::int64_t log_time_ms = 0;  // selects the folder of that day
  std::int64_t from_line = 1;
  bool operator==(const LogCall&) const = default;
};

// Its answer.
struct LogPart {
  std::int64_t from_line = 1;
  std::int64_t to_line = 0;  // below from_line: no lines
  std::string text{};        // lines with their line feeds
  bool is_end = false;       // nothing follows
  bool operator==(const LogPart&) const = default;
};

// /api/registry and /api/registryRemove.
struct Registration {
  std::string group = "EXECUTOR";
  std::string app_name{};
  std::string address{};  // the address for the admin's calls; never rewritten
  bool operator==(const Registration&) const = default;
};

// The end of a trigger: an element of /api/callback.
struct RunResult {
  std::int64_t log_id = 0;
  std::int64_t log_time_ms = 0;  // for an official admin; not read
  std::int64_t code = kSuccess;
  std::optional<std::string> message{};
  bool operator==(const RunResult&) const = default;
};

// /api/addJob, updateJob, removeJob, startJob, stopJob and triggerJob, of D; each uses some of the
// members.
struct ManagedJob {
  std::int64_t id = 0;
  std::string name{};
  std::string author{};
  std::optional<std::string> alarm_email{};  // separated by commas
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
  std::string addresses{};  // for triggerJob; separated by commas
  bool operator==(const ManagedJob&) const = default;
};

// The common part of all answers.
struct Reply {
  std::int64_t code = kSuccess;
  std::string message{};
  bool ok() const { return code == kSuccess; }
  bool operator==(const Reply&) const = default;
};

}  // namespace carillon::wire::xxl
