#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "carillon/ids.h"
#include "carillon/time.h"

// The result of a job, as feedback delivers it. Plain data.
namespace carillon {

struct JobResult {
  std::int64_t id = 0;  // of this result; a repeated delivery has the same id
  JobId job_id{};
  std::string task_id{};
  std::string group{};       // the node group
  std::int32_t attempt = 0;  // of the last attempt; 0 if the job never started
  std::string state{};       // succeeded failed timed_out killed lost cancelled expired missed
  WallTime trigger_time{};
  WallTime started_at{};  // of the last attempt; epoch if the job never started
  WallTime ended_at{};
  std::string node{};  // the task tracker that ran it
  std::optional<std::int32_t> exit_code{};
  std::string message{};

  bool succeeded() const { return state == "succeeded"; }
  bool operator==(const JobResult&) const = default;
};

}  // namespace carillon
