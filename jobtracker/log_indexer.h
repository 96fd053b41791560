#pragma once

#include <cstdint>

#include "jobtracker/state/ownership.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/clock.h"

namespace carillon::jobtracker {

struct LogIndexerConfig {
  // Log rows per step. More is faster, and delays other commits.
  std::int64_t rows = 1000;
  // With more rows than this waiting for a commit, it makes no step.
  std::size_t pending_max = 256;
};

// Fills the index of the log, which speeds up searches of a task's history.
//
// Jobs have priority: it works only when the store has been nearly idle for a while. Under load the
// index falls behind and catches up later; the history is then searched without it. With several
// job trackers, one fills it.
//
// Thread: the loop.
class LogIndexer {
 public:
  // Interval for calls of run_once().
  static constexpr Duration kPeriod = std::chrono::milliseconds{100};

  LogIndexer(LogIndexerConfig config, const Ownership& ownership, Batcher& batcher,
             const Clock& clock)
      : config_(config), ownership_(ownership), batcher_(batcher), clock_(clock) {}

  void run_once();
  // Starts no further step.
  void stop() { is_stopped_ = true; }

 private:
  void step();
  void stepped(std::int64_t rows);

  const LogIndexerConfig config_;
  const Ownership& ownership_;
  Batcher& batcher_;
  const Clock& clock_;
  int calm_ = 0;  // number of consecutive calls with a nearly idle store
  bool is_at_it_ = false;
  bool is_stopped_ = false;
  Duration rest_{};
  SteadyTime not_before_{};
};

}  // namespace carillon::jobtracker
