#pragma once

#include <algorithm>
#include <cstdint>

#include "carillon/ids.h"
#include "carillon/time.h"

namespace carillon::jobtracker {

// Ids for jobs and log rows: milliseconds since 2024 in the upper bits and a counter below, so that
// they grow with time and inserts append. Never the same twice, also when the clock goes back,
// because the highest one is stored with every commit and handed in after a restart.
//
// Thread: the loop.
class IdSource {
 public:
  explicit IdSource(std::int64_t high) : high_(high) {}

  // Ids of an earlier time are smaller, but for those of a time when many were given.
  static std::int64_t first_of(WallTime time) {
    constexpr WallTime kStart = std::chrono::sys_days{std::chrono::year{2024} / 1 / 1};
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time - kStart).count();
    return std::max<std::int64_t>(ms, 0) << 22;
  }

  std::int64_t next(WallTime now) {
    high_ = std::max(high_ + 1, first_of(now));
    return high_;
  }
  // The first of so many, all of them greater than those given before.
  std::int64_t next_many(WallTime now, std::int64_t count) {
    const std::int64_t first = next(now);
    high_ += count - 1;
    return first;
  }
  JobId next_job(WallTime now) { return JobId{next(now)}; }
  std::int64_t high() const { return high_; }

 private:
  std::int64_t high_;
};

}  // namespace carillon::jobtracker
