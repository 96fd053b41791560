#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/job/cron_fields.h"
#include "shared/job/zone.h"

// A cron expression, Quartz (6 or 7 fields) or Unix (5 fields), and when it fires in a zone.
//
// A fire is a whole second of the years 1970 to 2199, strictly later than the time it is asked
// from. docs/guide/scheduling.md says what expressions mean and what the DST rules do.
//
// A plain value of some hundred bytes. It does not keep its text: errors after parse() leave it to
// the caller to say which expression it was.
//
// Thread: any.
namespace carillon {

class Cron {
 public:
  // "cron '0 0 24 * * ?': hour 24 is out of range 0-23". Dates that never come (`30 2`) are refused
  // too; whether any fire is still to come depends on the time: check_will_fire().
  static Result<Cron> parse(std::string_view expression);

  // The first fire later than `after`.
  std::optional<WallTime> next(WallTime after, const Zone& zone, DstRule rule) const;
  // The same, several times faster as long as fires stay in one span of the zone's offset. `span`
  // belongs to the caller, starts out as ZoneSpan{} and must only be used with the same zone.
  std::optional<WallTime> next(WallTime after, const Zone& zone, DstRule rule,
                               ZoneSpan& span) const;

  // How many fires lie after the one time, up to and including the other; `limit` at most. A day
  // costs one search, but for those on which the zone's offset changes: there each fire does.
  std::int64_t count(WallTime after, WallTime until, const Zone& zone, DstRule rule, ZoneSpan& span,
                     std::int64_t limit) const;

  // Whether a clock on the wall that shows `local` shows a time of this expression.
  bool matches(LocalTime local) const { return fields_.first_at_or_after(local) == local; }

  // An error that says why, when no fire comes after `after`.
  Status check_will_fire(WallTime after, const Zone& zone, DstRule rule) const;

  // What `auto` stands for with this expression; the other rules stand for themselves.
  DstRule resolve(DstRule rule) const {
    if (rule != DstRule::kAuto) return rule;
    return fields_.every_hour_alike ? DstRule::kTwice : DstRule::kOnce;
  }

  bool operator==(const Cron&) const = default;

 private:
  explicit Cron(const CronFields& fields) : fields_(fields) {}

  CronFields fields_;
};

}  // namespace carillon
