#include "tasktracker/run/run_control.h"

namespace carillon::tasktracker {

void RunControl::begin(wire::AttemptId attempt, std::size_t output_max, SteadyTime begin_before) {
  begin_before_ = begin_before;
  output_.reset(attempt, output_max);
  stop_source_ = std::stop_source{};
  if (reason() == StopReason::kNone) return;
  wakeup_.clear();
  at_once_.store(false);
  stopping_.store(false);
  {
    const MutexLock lock(mutex_);
    detail_.clear();
  }
  reason_.store(StopReason::kNone, std::memory_order_release);
}

std::stop_source RunControl::stop(StopReason reason, const std::string& detail, bool at_once) {
  if (at_once) at_once_.store(true, std::memory_order_release);
  if (this->reason() == StopReason::kNone) {
    {
      const MutexLock lock(mutex_);
      detail_ = detail;
    }
    reason_.store(reason, std::memory_order_release);
    stopping_.store(true, std::memory_order_release);
  }
  wakeup_.signal();
  return stop_source_;
}

std::string RunControl::detail() const {
  const MutexLock lock(mutex_);
  return detail_;
}

}  // namespace carillon::tasktracker
