#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "carillon/ids.h"
#include "carillon/job_spec.h"
#include "carillon/time.h"
#include "jobtracker/state/executor_requests.h"
#include "jobtracker/store/push_rows.h"
#include "shared/net/poster.h"
#include "shared/wire/messages.h"
#include "shared/wire/xxl/messages.h"

// State of an executing pushed job.
namespace carillon::jobtracker {

enum class RunPhase : std::uint8_t {
  kStoring,  // being stored; not called yet
  kStored,   // waits in its executor's queue
  kCalling,
  kRunning,  // accepted, or perhaps accepted
  kEnded     // its result is known
};

// One call and its outcome.
struct PushedRun {
  PushRun row{};
  RunPhase phase = RunPhase::kStoring;
  WallTime sent_at{};                       // epoch: in an earlier session
  SteadyTime since{};                       // start of its time-out
  std::shared_ptr<net::Sending> sending{};  // kCalling: until the outcome is known
  std::vector<std::string> others{};        // to be called after a rejection, the best last
  std::string refusals{};
  bool is_at_other_path = false;        // the executor did not know the first path
  bool is_doubtful = false;             // it is unknown whether it still runs
  Duration grace{};                     // after it was found idle
  std::optional<SteadyTime> lost_at{};  // when it was found idle
  bool is_lost = false;
  int losses = 0;                        // of this shard, in this session
  SteadyTime asked_at{};                 // time of the last idle check
  Duration asked_every{};                // zero: immediately
  std::optional<SteadyTime> again_at{};  // when a failed shard runs again
  std::vector<OnStored> told{};          // callbacks for when its end is stored
};

// An attempt.
struct PushedJob {
  GroupId group{};
  JobId id{};
  std::int32_t attempt = 0;
  DefinitionId definition{};
  std::string task_id{};
  WallTime trigger_time{};
  wire::xxl::RunCall call{};
  std::string traceparent{};  // sent as a header, where the protocol has no field for it
  Push push{};
  RetryPolicy retries{};
  Duration timeout{};
  std::vector<std::int64_t> runs{};         // log ids; one, or one for each shard
  std::vector<std::string> to_ask{};        // FAILOVER, BUSYOVER: the next one first
  std::string refusals{};                   // of executors that were asked and then called
  std::optional<wire::RunResult> result{};  // reported, not confirmed yet
  SteadyTime reported_at{};
  std::string killed{};                 // the reason
  std::optional<SteadyTime> stop_by{};  // for a killed job: it ends then
};

}  // namespace carillon::jobtracker
