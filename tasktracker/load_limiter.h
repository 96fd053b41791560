#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/base/log.h"
#include "tasktracker/machine_load.h"

namespace carillon::tasktracker {

// Limits in percent of the machine's CPU use (over three seconds) and memory; 0: no limit.
struct LoadLimits {
  int cpu = 0;
  int memory = 0;

  bool any() const { return cpu > 0 || memory > 0; }
};

// Decides whether the machine is too busy for more jobs: from a limit on, until the load is five
// points lower, so that a load near the limit does not switch it all the time. An unreadable load
// does not block jobs.
//
// Thread: the loop.
class LoadLimiter {
 public:
  using Read = std::function<Result<MachineLoad>()>;

  LoadLimiter(LoadLimits limits, Read read) : limits_(limits), read_(std::move(read)) {}

  // Measures the load once a second.
  void run_once(SteadyTime now);
  // The exceeded limit, like "cpu 97%"; empty: none.
  const std::string& overload() const { return overload_; }
  // Time of the next measurement; none: there is no limit.
  std::optional<SteadyTime> next_time() const;

 private:
  void look();
  std::string too_much() const;
  int share_of_cpu() const;
  int share_of_memory() const;

  const LoadLimits limits_;
  const Read read_;
  const Logger log_{"worker"};
  SteadyTime next_look_{};
  std::deque<MachineLoad> seen_{};  // of the last seconds, oldest first
  std::string overload_{};
  bool is_blind_ = false;
};

}  // namespace carillon::tasktracker
