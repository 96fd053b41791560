#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "carillon/job_runner.h"
#include "carillon/job_spec.h"
#include "carillon/time.h"
#include "shared/wire/messages.h"

// A run and its result. Plain values.
namespace carillon::tasktracker {

// A job for a runner.
struct RunRequest {
  JobInfo job{};
  Run run{};
  Duration timeout{};      // 0: none
  Duration later_delay{};  // delay after "later" without a time
};

struct RunEnd {
  wire::RunOutcome outcome = wire::RunOutcome::kSucceeded;
  std::optional<std::int32_t> exit_code{};
  std::string message{};
  Duration later{};
  bool came_late = false;    // it did not start in time
  bool has_no_room = false;  // it did not start, because its worker lacks resources
};

}  // namespace carillon::tasktracker
