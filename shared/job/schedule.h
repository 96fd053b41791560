#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/job/cron.h"

// The fires of a Schedule, ready to be asked for.
//
// A schedule has a grid of fires that does not depend on when its runs start or end; only
// kFixedDelay counts from the end of the last run. How many runs `count` allows is the caller's
// business: it counts runs, not fires. All answers lie before the year 2200.
//
// A plain value of about 240 bytes. Asking moves a cached span of the zone, so the calls that look
// for fires are not const and one object must not be asked by two threads at once.
//
// Thread: the owner's only.
namespace carillon {

// Shorter intervals are refused: no run could keep up, and the outside counts in milliseconds.
inline constexpr Duration kIntervalMin = std::chrono::milliseconds{1};
inline constexpr Duration kIntervalMax = std::chrono::hours{24 * 366 * 100};

// The word that stands for it in flags, JSON and answers: "fixed_delay".
std::string word_of(ScheduleKind kind);

class CompiledSchedule {
 public:
  // `submitted` is where kNow fires and where kEvery and kFixedDelay start when they name no first
  // time. Refused: a wrong expression, zone or interval, and a cron that has no fire to come after
  // `submitted`. Requires: the zone of a kCron has been resolved.
  static Result<CompiledSchedule> compile(const Schedule& schedule, WallTime submitted);

  ScheduleKind kind() const { return kind_; }

  // The first fire of a job submitted at `submitted`: for kEvery the first point of its grid at or
  // after it (a job without a first time fires at once). None for kManual.
  std::optional<WallTime> first_fire(WallTime submitted);

  // The first fire of the grid later than `after`. kNow, kAt and kFixedDelay have one fire in their
  // grid, kManual none.
  std::optional<WallTime> next_fire(WallTime after);

  // When the next run starts after the last one has ended: `end` plus the interval for kFixedDelay,
  // the next fire of the grid for all others.
  std::optional<WallTime> next_after_end(WallTime end);

  // How many fires lie after the one time, up to and including the other; `limit` at most. Takes no
  // time for kEvery, for kCron about a next_fire() a day (Cron::count()).
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
