#pragma once

#include <cstdint>
#include <functional>

#include "jobtracker/state/ownership.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/clock.h"

namespace carillon::jobtracker {

// How long ended jobs and other old data are kept.
struct RetentionConfig {
  // Ended jobs in the log, with their output.
  Duration log = std::chrono::hours{24 * 7};
  // The daily counts of the log.
  Duration counts = std::chrono::hours{24 * 400};
  // Changes and who made them.
  Duration audit = std::chrono::hours{24 * 90};
  // The figures of each minute.
  Duration figures = std::chrono::hours{24 * 8};
  // The last requests of a client.
  Duration clients = std::chrono::hours{24 * 7};
};

// Deletes old history and other expired data.
//
// Works in steps, so that jobs wait for at most one step. The next step follows if this one deleted
// as much as it may. A step may delete twice as many rows as jobs ended during the previous one, so
// the history does not grow however fast jobs end. With several job trackers one deletes, and
// assumes that as many jobs end at each of the others.
//
// Thread: the loop.
class Retention {
 public:
  static constexpr std::int64_t kRowsLeast = 1000;
  static constexpr std::int64_t kRowsMost = 4000;

  // `ended`: number of runs that have ended in this process.
  Retention(RetentionConfig config, const Ownership& ownership, Batcher& batcher,
            const SchedulingClock& clock, std::function<std::int64_t()> ended);

  // Starts, unless it is running or another job tracker does it.
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
