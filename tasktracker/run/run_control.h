#pragma once

#include <atomic>
#include <stop_token>
#include <string>

#include "shared/base/clock.h"
#include "shared/base/mutex.h"
#include "shared/runtime/wakeup.h"
#include "tasktracker/run/output_buffer.h"

namespace carillon::tasktracker {

// Why a run must stop. A later reason does not replace an earlier one, but may shorten its grace.
enum class StopReason : int {
  kNone = 0,
  kTimedOut = 1,
  kKilled = 2,
  kShutdown = 3,    // this worker shuts down
  kLeaseEnded = 4,  // the job may already run on another worker
};

// Connects one thread of the pool with its controller: the run checks here whether it must stop,
// and writes its output here; others request its stop here. One per thread, reused for each run.
//
// Thread: the run's; stop() any. begin() and stop() must not run concurrently.
class RunControl {
 public:
  explicit RunControl(const Clock& clock) : output_(clock) {}
  RunControl(const RunControl&) = delete;
  RunControl& operator=(const RunControl&) = delete;

  // `begin_before`: the run must not start later.
  void begin(wire::AttemptId attempt, std::size_t output_max,
             SteadyTime begin_before = SteadyTime::max());

  // `detail`: the requester, for people. `at_once`: without the grace time of processes. The caller
  // must call request_stop() on the result without holding a lock, because that may call user
  // functions.
  [[nodiscard]] std::stop_source stop(StopReason reason, const std::string& detail, bool at_once);

  SteadyTime begin_before() const { return begin_before_; }

  StopReason reason() const { return reason_.load(std::memory_order_acquire); }
  bool at_once() const { return at_once_.load(std::memory_order_acquire); }
  std::string detail() const;
  // True after stop(); for APIs that accept a flag.
  const std::atomic<bool>& stop_flag() const { return stopping_; }
  std::stop_token stop_token() const { return stop_source_.get_token(); }
  // Readable after stop(); clear it before checking.
  Wakeup& wakeup() { return wakeup_; }

  OutputBuffer& output() { return output_; }

 private:
  OutputBuffer output_;
  SteadyTime begin_before_{};
  Wakeup wakeup_;
  std::atomic<StopReason> reason_{StopReason::kNone};
  std::atomic<bool> at_once_{false};
  std::atomic<bool> stopping_{false};
  std::stop_source stop_source_;  // new for each run: a user may keep a token
  mutable Mutex mutex_;           // guards data that is written at most once per run
  std::string detail_ CARILLON_GUARDED_BY(mutex_){};
};

}  // namespace carillon::tasktracker
