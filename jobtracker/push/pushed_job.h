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

// What is known of a pushed job while it executes.
namespace carillon::jobtracker {

enum class RunPhase : std::uint8_t {
  kStoring,  // on its way to the store; not called yet
  kStored,   // waits in its executor's line
  kCalling,
  kRunning,  // it was taken, or may have been
  kEnded     // its result is known
};

// One call, and what came of it.
struct PushedRun {
  PushRun row{};
  RunPhase phase = RunPhase::kStoring;
  WallTime sent_at{};                       // epoch: in an earlier session
  SteadyTime since{};                       // its time-out counts from then
  std::shared_ptr<net::Sending> sending{};  // kCalling, until that has an outcome
  std::vector<std::string> others{};        // to be called if it is refused, the best last
  std::string refusals{};
  bool is_at_other_path = false;        // the executor knew not the first one
  bool is_doubtful = false;             // whether it still runs
  Duration grace{};                     // from when it is found idle
  std::optional<SteadyTime> lost_at{};  // it was found idle
  bool is_lost = false;
  int losses = 0;                        // of this shard, in this life
  SteadyTime asked_at{};                 // whether it is idle
  Duration asked_every{};                // zero: at once
  std::optional<SteadyTime> again_at{};  // a shard that failed
  std::vector<OnStored> told{};          // who waits for its end to be stored
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
  Push push{};
  RetryPolicy retries{};
  Duration timeout{};
  std::vector<std::int64_t> runs{};         // log ids; one, or one for each shard
  std::vector<std::string> to_ask{};        // FAILOVER, BUSYOVER: the next one first
  std::string refusals{};                   // of those that were asked, and then called
  std::optional<wire::RunResult> result{};  // reported, and not confirmed yet
  SteadyTime reported_at{};
  std::string killed{};                 // why
  std::optional<SteadyTime> stop_by{};  // killed: it ends then
};

}  // namespace carillon::jobtracker
