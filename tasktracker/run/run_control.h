#pragma once

#include <atomic>
#include <stop_token>
#include <string>

#include "shared/base/clock.h"
#include "shared/base/mutex.h"
#include "shared/runtime/wakeup.h"
#include "tasktracker/run/output_buffer.h"

namespace carillon::tasktracker {

// Why a run is told to end. A later one does not replace an earlier one, only its haste.
enum class StopReason : int {
  kNone = 0,
  kTimedOut = 1,
  kKilled = 2,
  kShutdown = 3,    // this worker ends
  kLeaseEnded = 4,  // by now the job may be given to another worker
};

// The two ends of one thread of the pool: the run sees here whether it shall stop and writes its
// output here; whoever stops it does so here. One for each thread, used again for each of its runs.
//
// Thread: the run's, but stop() any; begin() and stop() not at the same time.
class RunControl {
 public:
  explicit RunControl(const Clock& clock) : output_(clock) {}
  RunControl(const RunControl&) = delete;
  RunControl& operator=(const RunControl&) = delete;

  // `begin_before`: afterwards it must not begin any more.
  void begin(wire::AttemptId attempt, std::size_t output_max,
             SteadyTime begin_before = SteadyTime::max());

  // `detail` is for a person: who wants it. At once: without the grace that processes get. The
  // caller calls request_stop() on what it gets, without holding a lock, because that may call
  // functions of the user's.
  [[nodiscard]] std::stop_source stop(StopReason reason, const std::string& detail, bool at_once);

  SteadyTime begin_before() const { return begin_before_; }

  StopReason reason() const { return reason_.load(std::memory_order_acquire); }
  bool at_once() const { return at_once_.load(std::memory_order_acquire); }
  std::string detail() const;
  // True from stop() on; for callers that take a flag.
  const std::atomic<bool>& stop_flag() const { return stopping_; }
  std::stop_token stop_token() const { return stop_source_.get_token(); }
  // Readable when stop() was called; clear it before looking.
  Wakeup& wakeup() { return wakeup_; }

  OutputBuffer& output() { return output_; }

 private:
  OutputBuffer output_;
  SteadyTime begin_before_{};
  Wakeup wakeup_;
  std::atomic<StopReason> reason_{StopReason::kNone};
  std::atomic<bool> at_once_{false};
  std::atomic<bool> stopping_{false};
  std::stop_source stop_source_;  // a new one for each run: a user may keep a token for longer
  mutable Mutex mutex_;           // of what is written at most once a run
  std::string detail_ CARILLON_GUARDED_BY(mutex_){};
};

}  // namespace carillon::tasktracker
