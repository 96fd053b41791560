#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "carillon/result.h"
#include "shared/wire/xxl/messages.h"

namespace carillon::jobtracker {

// An executor says where it is to be called, or that it goes.
struct ExecutorRegistration {
  bool removes = false;
  std::string app_name{};
  std::string address{};
  std::string token{};  // where it named its app with it, as in dialect D
};

// How runs ended.
struct ExecutorResults {
  std::vector<wire::xxl::RunResult> results{};
};

// What executors of xxl-job tell a job tracker.
using ExecutorRequest = std::variant<ExecutorRegistration, ExecutorResults>;

// Called once, on the loop: what was told is on disk, or why not.
using OnStored = std::function<void(Status)>;

}  // namespace carillon::jobtracker
