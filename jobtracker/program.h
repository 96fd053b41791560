#pragma once

#include <string>
#include <vector>

#include "carillon/result.h"
#include "jobtracker/api/sign_in_config.h"
#include "jobtracker/job_tracker.h"
#include "shared/base/configuration.h"
#include "shared/base/environment.h"
#include "shared/base/log.h"
#include "shared/net/access.h"
#include "shared/net/http_access.h"

namespace carillon::jobtracker {

// The checked settings from the command line, the environment and the file.
struct Settings {
  std::string name{};
  std::string data{};          // the data folder
  std::string store{};         // sqlite:ABSOLUTE_PATH or mysql://...
  bool default_store = false;  // in the data folder, which is created if it is missing
  std::string listen{};
  std::string advertise{};                // empty: derived from --listen
  std::string http{};                     // HOST:PORT; empty: off
  std::vector<std::string> http_names{};  // further names of this server
  std::string xxl_listen{};               // HOST:PORT; empty: the http address; "off": none
  net::HttpAccess http_access{};          // of both
  std::vector<std::string> xxl_tokens{};
  std::string xxl_ca{};      // for the certificates of executors; empty: the system's authorities
  std::string xxl_closed{};  // why executors are rejected; empty: they are accepted
  std::string smtp{};        // empty: no mail
  std::string smtp_from{};
  Duration store_wait{};
  Duration silence = kSilence;  // of other job trackers
  net::Access access{};
  SignInConfig sign_in{};
  LogLevel log_level = LogLevel::kInfo;
  JobTrackerConfig tracker{};
  std::vector<EffectiveOption> options{};  // for people, secrets masked
};

Program make_program(const Environment& environment);
Result<Settings> read_settings(const Configuration& configuration, const Environment& environment);

}  // namespace carillon::jobtracker
