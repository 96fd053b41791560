#include "shared/job/cron.h"

#include <algorithm>
#include <string>

namespace carillon {

namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

// Upper bound for the difference between local and absolute distance of two instants: zone offsets
// differ by little more than a day.
constexpr seconds kOffsetChangeMax = std::chrono::hours{48};

}  // namespace

Result<Cron> Cron::parse(std::string_view expression) {
  const CronFields fields = CARILLON_TRY(CronFields::parse(expression));
  return Cron{fields};
}

std::optional<WallTime> Cron::next(WallTime after, const Zone& zone, DstRule rule) const {
  ZoneSpan span;
  return next(after, zone, rule, span);
}

// Within a span local time runs like UTC, so the next match there is the next fire. The rules
// differ only at the border of two spans: whether a span starts with local times that the previous
// one already had, and whether a match in the gap between them counts.
std::optional<WallTime> Cron::next(WallTime after, const Zone& zone, DstRule rule,
                                   ZoneSpan& span) const {
  rule = resolve(rule);
  const bool repeats = rule == DstRule::kTwice;
  sys_seconds from = std::chrono::floor<seconds>(after) + seconds{1};
  if (!span.holds(from)) span = zone.span_at(from);
  if (rule == DstRule::kOnce && from == span.begin) {
    const std::optional<LocalTime> skipped = fields_.first_at_or_after(span.local_before());
    if (skipped && *skipped < span.local_begin()) return from;
  }
  for (;;) {
    LocalTime local = span.to_local(from);
    if (!repeats) local = std::max(local, span.local_before());
    const std::optional<LocalTime> match = fields_.first_at_or_after(local);
    if (match && (span.is_last() || *match < span.local_end())) return span.to_instant(*match);
    if (span.is_last()) return std::nullopt;
    if (match && !repeats && *match - span.local_end() > kOffsetChangeMax) {
      // Nothing matches before `match`, so spans until shortly before it are skipped.
      from = span.to_instant(*match) - kOffsetChangeMax;
      span = zone.span_at(from);
      if (span.is_last() || *match < span.local_end()) return span.to_instant(*match);
      continue;
    }

    const ZoneSpan following = zone.span_at(span.end);
    const bool goes_back = following.local_begin() < span.local_end();
    if (!match && !(repeats && goes_back)) return std::nullopt;
    if (match && rule == DstRule::kOnce && *match < following.local_begin()) {
      return following.begin;
    }
    from = following.begin;
    // As above, unless the next span repeats local times before `local`.
    if (match && !(repeats && goes_back)) {
      from = std::max(from, span.to_instant(*match) - kOffsetChangeMax);
    }
    span = following.holds(from) ? following : zone.span_at(from);
  }
}

// A day within one span, none of whose local times the previous span had, has one fire for each
// matching time of day.
std::int64_t Cron::count(WallTime after, WallTime until, const Zone& zone, DstRule rule,
                         ZoneSpan& span, std::int64_t limit) const {
  constexpr seconds kDay = std::chrono::hours{24};
  std::int64_t fires = 0;
  while (fires < limit) {
    const std::optional<WallTime> fire = next(after, zone, rule, span);
    if (!fire || *fire > until) break;
    const auto at = std::chrono::floor<seconds>(*fire);
    if (!span.holds(at)) span = zone.span_at(at);
    const LocalTime day = std::chrono::floor<std::chrono::days>(span.to_local(at));
    const sys_seconds begin = span.to_instant(day);
    const WallTime last = begin + kDay - seconds{1};
    if (after < begin && last <= until && span.begin < begin && begin + kDay <= span.end &&
        span.local_before() <= day) {
      fires += fields_.times_a_day();
      after = last;
    } else {
      ++fires;
      after = *fire;
    }
  }
  return std::min(fires, limit);
}

Status Cron::check_will_fire(WallTime after, const Zone& zone, DstRule rule) const {
  if (next(after, zone, rule).has_value()) return {};
  const LocalTime now = zone.to_local(std::chrono::floor<seconds>(after));
  const std::chrono::year_month_day today{std::chrono::floor<std::chrono::days>(now)};
  const int last_year = fields_.last_year();
  if (last_year < static_cast<int>(today.year())) {
    return Error{ErrorCode::kInvalidArgument, "has no future fire: its last year, " +
                                                  std::to_string(last_year) + ", has passed"};
  }
  return Error{ErrorCode::kInvalidArgument,
               "has no future fire: none of its dates and times is left in " + zone.name()};
}

}  // namespace carillon
