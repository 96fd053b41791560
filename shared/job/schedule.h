#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/job/cron.h"

// The fires of a Schedule.
//
// A schedule has a grid of fires that does not depend on starts and ends of runs; only kFixedDelay
// counts from the end of the last run. The caller limits the runs by `count`, which counts runs,
// not fires. All results are before the year 2200.
//
// A plain value of about 240 bytes. Searches move a cached span of the zone, so they are not const,
// and one object must not be used by two threads at once.
//
// Thread: the owner's.
namespace carillon {

// Shorter intervals are rejected: no run could keep up, and the API uses milliseconds.
inline constexpr Duration kIntervalMin = std::chrono::milliseconds{1};
inline constexpr Duration kIntervalMax = std::chrono::hours{24 * 366 * 100};

// The word for it in flags, JSON and answers: "fixed_delay".
std::string word_of(ScheduleKind kind);

class CompiledSchedule {
 public:
  // `submitted`: the fire of kNow, and the start of kEvery and kFixedDelay without a first time.
  // Errors: an invalid expression, zone or interval, and a cron without a fire after `submitted`.
  // Requires: the zone of a kCron was resolved.
  static Result<CompiledSchedule> compile(const Schedule& schedule, WallTime submitted);

  ScheduleKind kind() const { return kind_; }

  // The first fire of a job submitted at `submitted`. For kEvery it is the first point of its grid
  // at or after `submitted`; without a first time it is `submitted`. None for kManual.
  std::optional<WallTime> first_fire(WallTime submitted);

  // The first fire of the grid later than `after`. kNow, kAt and kFixedDelay have one fire in their
  // grid, kManual none.
  std::optional<WallTime> next_fire(WallTime after);

  // The start of the next run after a run that ended at `end`: `end` plus the interval for
  // kFixedDelay, the next fire of the grid for others.
  std::optional<WallTime> next_after_end(WallTime end);

  // The number of fires after `after`, up to and including `until`, at most `limit`. Constant time
  // for kEvery; about one next_fire() per day for kCron (Cron::count()).
  std::int64_t count_fires(WallTime after, WallTime until, std::int64_t limit);

 private:
  explicit CompiledSchedule(ScheduleKind kind) : kind_(kind) {}

  struct CronPart {
    Cron cron;
    Zone zone;
    DstRule rule;
    ZoneSpan span{};
  };

  ScheduleKind kind_;
  WallTime first_{};
  Duration interval_{};
  std::optional<CronPart> cron_{};
};

}  // namespace carillon
