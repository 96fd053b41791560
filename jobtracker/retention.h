#pragma once

#include <cstdint>
#include <functional>

#include "jobtracker/state/ownership.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/clock.h"

namespace carillon::jobtracker {

// How long what is over is kept.
struct RetentionConfig {
  // Ended jobs stay in the log, with their output.
  Duration log = std::chrono::hours{24 * 7};
  // It is remembered how much the log had.
  Duration counts = std::chrono::hours{24 * 400};
  // A client's last requests are remembered after them.
  Duration clients = std::chrono::hours{24 * 7};
};

// Deletes from the history what has become too old, and other things that are over.
//
// A step at a time, so that jobs never wait for more than one: the next step is taken when this one
// has ended, and only if it found as much as it may delete. A step may delete twice as many rows as
// jobs ended during the one before it, so the history grows no further however fast jobs end. Of
// several job trackers one deletes, and supposes that as many end at each of the others.
//
// Thread: the loop.
class Retention {
 public:
  static constexpr std::int64_t kRowsLeast = 1000;
  static constexpr std::int64_t kRowsMost = 4000;

  // `ended`: how many runs have ended so far, here.
  Retention(RetentionConfig config, const Ownership& ownership, Batcher& batcher,
            const SchedulingClock& clock, std::function<std::int64_t()> ended);

  // Begins, unless it is at it or another job tracker does it.
  void run_once();

 private:
  void step(std::int64_t rows_max);

  const RetentionConfig config_;
  const Ownership& ownership_;
  Batcher& batcher_;
  const SchedulingClock& clock_;
  const std::function<std::int64_t()> ended_;
  bool is_at_it_ = false;
};

}  // namespace carillon::jobtracker
