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
};

// How runs ended.
struct ExecutorResults {
  std::vector<wire::xxl::RunResult> results{};
};

// What executors of xxl-job tell a job tracker.
using ExecutorRequest = std::variant<ExecutorRegistration, ExecutorResults>;

// What an executor wants done with a job of its app, which dialect D lets it.
struct ManageJob {
  enum class Verb : int { kAdd = 0, kUpdate = 1, kRemove = 2, kStart = 3, kStop = 4, kTrigger = 5 };
  Verb verb = Verb::kAdd;
  std::string app_name{};
  wire::xxl::ManagedJob job{};
};

// Called once, on the loop: what there is to tell of it, the new job's number; or why it was not
// done.
using OnManaged = std::function<void(Result<std::string>)>;

// Called once, on the loop: what was told is on disk, or why not.
using OnStored = std::function<void(Status)>;

}  // namespace carillon::jobtracker
