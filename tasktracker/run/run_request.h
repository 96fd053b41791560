#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "carillon/job_runner.h"
#include "carillon/job_spec.h"
#include "carillon/time.h"
#include "shared/wire/messages.h"

// What is run, and how it ended. Plain values.
namespace carillon::tasktracker {

// A job as a runner gets it.
struct RunRequest {
  JobInfo job{};
  Run run{};
  Duration timeout{};      // 0: none
  Duration later_delay{};  // how long a run that asks for "later" without a time is put off
};

struct RunEnd {
  wire::RunOutcome outcome = wire::RunOutcome::kSucceeded;
  std::optional<std::int32_t> exit_code{};
  std::string message{};
  Duration later{};
  bool came_late = false;    // it has not begun, and must not any more
  bool has_no_room = false;  // nor has this one, for its worker's lack of something
};

}  // namespace carillon::tasktracker
