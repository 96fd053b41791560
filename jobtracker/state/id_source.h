#pragma once

#include <algorithm>
#include <cstdint>

#include "carillon/ids.h"
#include "carillon/time.h"
#include "jobtracker/store/batch.h"

namespace carillon::jobtracker {

// Ids for jobs and log rows: milliseconds since 2024 in the upper bits and a counter below. They
// grow with time, so inserts append. They are unique, even if the clock moves back: each commit
// stores the highest one, and a restart reads it. Sessions on one store use every 64th id, each
// from its own number on, so their ids differ.
//
// Thread: the loop.
class IdSource {
 public:
  // `number`: of the session, 0 to 63.
  explicit IdSource(std::int64_t high, std::int32_t number = 0) : high_(high), number_(number) {}

  // Ids of earlier times are smaller, except after a burst of ids.
  static std::int64_t first_of(WallTime time) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time - kStart).count();
    return std::max<std::int64_t>(ms, 0) << kMsShift;
  }

  // The time in an id, in milliseconds since 2024 and as a WallTime.
  static constexpr std::int64_t ms_of(std::int64_t id) { return id >> kMsShift; }
  static WallTime at(std::int64_t ms) { return kStart + std::chrono::milliseconds{ms}; }

  std::int64_t next(WallTime now) {
    const std::int64_t least = std::max(high_ + 1, first_of(now));
    high_ = least + ((number_ - least) & (kIdStep - 1));
    return high_;
  }
  // The first of `count` ids, kIdStep apart, all greater than earlier ones.
  std::int64_t next_many(WallTime now, std::int64_t count) {
    const std::int64_t first = next(now);
    high_ += (count - 1) * kIdStep;
    return first;
  }
  JobId next_job(WallTime now) { return JobId{next(now)}; }
  std::int64_t high() const { return high_; }

 private:
  static constexpr WallTime kStart = std::chrono::sys_days{std::chrono::year{2024} / 1 / 1};
  static constexpr int kMsShift = 22;

  std::int64_t high_;
  std::int64_t number_;
};

}  // namespace carillon::jobtracker
