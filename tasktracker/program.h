#pragma once

#include "carillon/result.h"
#include "carillon/task_tracker.h"
#include "shared/base/configuration.h"
#include "shared/base/environment.h"
#include "shared/base/log.h"

// What the program `tasktracker` can be told.
// Thread: any.
namespace carillon::tasktracker {

// Its options, for parse_configuration().
Program make_program(const Environment& environment);

struct Settings {
  TaskTrackerOptions options{};
  Duration drain_timeout = std::chrono::seconds{30};
  LogLevel log_level = LogLevel::kInfo;
};

Result<Settings> read_settings(const Configuration& configuration);

}  // namespace carillon::tasktracker
