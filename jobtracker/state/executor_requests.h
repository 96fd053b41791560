#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "carillon/result.h"
#include "shared/wire/xxl/messages.h"

namespace carillon::jobtracker {

// An executor registers or removes its address.
struct ExecutorRegistration {
  bool removes = false;
  std::string app_name{};
  std::string address{};
  std::string peer{};  // the address of the caller; empty: it may create any number of groups
};

// Results of runs.
struct ExecutorResults {
  std::vector<wire::xxl::RunResult> results{};
};

// Messages of xxl-job executors.
using ExecutorRequest = std::variant<ExecutorRegistration, ExecutorResults>;

// A management call of an executor for a job of its app (dialect D).
struct ManageJob {
  enum class Verb : int { kAdd = 0, kUpdate = 1, kRemove = 2, kStart = 3, kStop = 4, kTrigger = 5 };
  Verb verb = Verb::kAdd;
  std::string app_name{};
  wire::xxl::ManagedJob job{};
  std::string peer{};  // the address of the caller
};

// Called once, on the loop, with the answer (the new job's number) or an error.
using OnManaged = std::function<void(Result<std::string>)>;

// Called once, on the loop: the data is on disk, or an error.
using OnStored = std::function<void(Status)>;

}  // namespace carillon::jobtracker
