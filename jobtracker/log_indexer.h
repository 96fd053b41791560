#pragma once

#include <cstdint>

#include "jobtracker/state/ownership.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/clock.h"

namespace carillon::jobtracker {

struct LogIndexerConfig {
  // Rows of the log that a step adds to the index: more is faster, and holds up other commits.
  std::int64_t rows = 1000;
  // With more rows than this waiting for a commit, jobs come first.
  std::size_t pending_max = 256;
};

// Fills the index of the log, so that people find a task's history fast.
//
// Jobs come first: it takes a step only when little waits for the store, and has for a while. So
// the index lags behind while the store is busy, and catches up later; the history is searched
// without it meanwhile. Of several job trackers one fills it.
//
// Thread: the loop.
class LogIndexer {
 public:
  // How often it is to be run.
  static constexpr Duration kPeriod = std::chrono::milliseconds{100};

  LogIndexer(LogIndexerConfig config, const Ownership& ownership, Batcher& batcher,
             const Clock& clock)
      : config_(config), ownership_(ownership), batcher_(batcher), clock_(clock) {}

  void run_once();
  // No step follows the one under way.
  void stop() { is_stopped_ = true; }

 private:
  void step();
  void stepped(std::int64_t rows);

  const LogIndexerConfig config_;
  const Ownership& ownership_;
  Batcher& batcher_;
  const Clock& clock_;
  int calm_ = 0;  // so many runs in a row found that little waits
  bool is_at_it_ = false;
  bool is_stopped_ = false;
  Duration rest_{};
  SteadyTime not_before_{};
};

}  // namespace carillon::jobtracker
