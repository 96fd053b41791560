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

// Percent of the machine's processors, over three seconds, and of its memory; 0: no limit.
struct LoadLimits {
  int cpu = 0;
  int memory = 0;

  bool any() const { return cpu > 0 || memory > 0; }
};

// Says whether the machine is too busy for more jobs: from a limit on, until the load is five
// points below it, so that one which stays near it does not come and go. What cannot be read
// keeps nothing from being run.
//
// Thread: the loop.
class LoadGate {
 public:
  using Read = std::function<Result<MachineLoad>()>;

  LoadGate(LoadLimits limits, Read read) : limits_(limits), read_(std::move(read)) {}

  // Looks, when it is time to: once a second.
  void run_once(SteadyTime now);
  // What there is too much of, like "cpu 97%"; empty: there is room for more.
  const std::string& overload() const { return overload_; }
  // When to look again; none: there is no limit.
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
