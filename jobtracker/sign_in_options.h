#pragma once

#include <vector>

#include "carillon/result.h"
#include "jobtracker/api/sign_in_config.h"
#include "shared/base/configuration.h"

// The settings of sign-in at the web console. Thread: any.
namespace carillon::jobtracker {

std::vector<Option> sign_in_options();

// `has_proxies`: whether --behind-proxy names trusted proxies. Error: kInvalidArgument.
Result<SignInConfig> read_sign_in(const Configuration& configuration, bool has_proxies);

}  // namespace carillon::jobtracker
