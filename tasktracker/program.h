#pragma once

#include "carillon/result.h"
#include "carillon/task_tracker.h"
#include "shared/base/configuration.h"
#include "shared/base/environment.h"
#include "shared/base/log.h"

// The options of the program `tasktracker`. Thread: any.
namespace carillon::tasktracker {

// For parse_configuration().
Program make_program(const Environment& environment);

struct Settings {
  TaskTrackerOptions options{};
  Duration drain_timeout = std::chrono::seconds{30};
  LogLevel log_level = LogLevel::kInfo;
};

Result<Settings> read_settings(const Configuration& configuration);

}  // namespace carillon::tasktracker
