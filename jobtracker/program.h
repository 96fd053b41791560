#pragma once

#include <string>
#include <vector>

#include "carillon/result.h"
#include "jobtracker/job_tracker.h"
#include "shared/base/configuration.h"
#include "shared/base/environment.h"
#include "shared/base/log.h"
#include "shared/net/access.h"

namespace carillon::jobtracker {

// What the command line, the environment and the file come to, checked.
struct Settings {
  std::string name{};
  std::string data{};          // the data folder
  std::string store{};         // sqlite:ABSOLUTE_PATH or mysql://...
  bool default_store = false;  // it lies in the data folder, which is made if it is missing
  std::string listen{};
  std::string advertise{};   // empty: as it listens
  std::string http{};        // HOST:PORT; empty: off
  std::string xxl_listen{};  // HOST:PORT; empty: where http is; "off": nowhere
  std::vector<std::string> xxl_tokens{};
  std::string xxl_ca{};      // of the executors' certificates; empty: whom the system trusts
  std::string xxl_closed{};  // why no executor is let in; empty: they are
  std::string smtp{};        // empty: no mail
  std::string smtp_from{};
  Duration store_wait{};
  Duration silence = kSilence;  // of other job trackers
  net::Access access{};
  LogLevel log_level = LogLevel::kInfo;
  JobTrackerConfig tracker{};
};

Program make_program(const Environment& environment);
Result<Settings> read_settings(const Configuration& configuration, const Environment& environment);

}  // namespace carillon::jobtracker
