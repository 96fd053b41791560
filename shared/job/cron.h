#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/job/cron_fields.h"
#include "shared/job/zone.h"

// A cron expression, Quartz (6 or 7 fields) or Unix (5 fields), and its fires in a time zone.
//
// A fire is a whole second of the years 1970 to 2199, strictly later than the given time.
// docs/guide/scheduling.md defines the expressions and the DST rules.
//
// A plain value of some hundred bytes. It does not store its text: the caller adds the expression
// to errors after parse().
//
// Thread: any.
namespace carillon {

class Cron {
 public:
  // Error example: "cron '0 0 24 * * ?': hour 24 is out of range 0-23". Dates that never exist (`30
  // 2`) are errors. Whether a future fire exists depends on the time: check_will_fire().
  static Result<Cron> parse(std::string_view expression);

  // The first fire later than `after`.
  std::optional<WallTime> next(WallTime after, const Zone& zone, DstRule rule) const;
  // The same, several times faster while fires are in one span of the zone's offset. `span` belongs
  // to the caller, starts as ZoneSpan{}, and must be used with one zone only.
  std::optional<WallTime> next(WallTime after, const Zone& zone, DstRule rule,
                               ZoneSpan& span) const;

  // The number of fires after `after`, up to and including `until`, at most `limit`. Costs one
  // search per day, and one per fire on days with a change of the zone's offset.
  std::int64_t count(WallTime after, WallTime until, const Zone& zone, DstRule rule, ZoneSpan& span,
                     std::int64_t limit) const;

  // Whether the local time `local` matches.
  bool matches(LocalTime local) const { return fields_.first_at_or_after(local) == local; }

  // An error with the reason if there is no fire after `after`.
  Status check_will_fire(WallTime after, const Zone& zone, DstRule rule) const;

  // The rule that `auto` means for this expression; other rules are returned unchanged.
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
