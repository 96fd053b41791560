#include "shared/job/cron_note.h"

#include <array>
#include <cstdio>
#include <optional>

namespace carillon {

namespace {

using std::chrono::hours;
using std::chrono::local_days;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;

template <class... Numbers>
std::string print(const char* format, Numbers... numbers) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, static_cast<int>(numbers)...);
  return text.data();
}

std::string clock_text(LocalTime local) {
  const std::chrono::hh_mm_ss time{local - std::chrono::floor<std::chrono::days>(local)};
  std::string text = print("%02d:%02d", time.hours().count(), time.minutes().count());
  if (time.seconds().count() == 0) return text;
  return text + print(":%02d", time.seconds().count());
}

// "02:00" on the day of a fire, "00:00 on 12-31" on another.
std::string clock_text(LocalTime local, local_days today) {
  const auto day = std::chrono::floor<std::chrono::days>(local);
  if (day == today) return clock_text(local);
  const std::chrono::year_month_day date{day};
  return clock_text(local) + print(" on %02d-%02d", static_cast<unsigned>(date.month()),
                                   static_cast<unsigned>(date.day()));
}

std::string amount_text(seconds amount) {
  if (amount % hours{1} == seconds{0}) return print("%d h", amount / hours{1});
  if (amount % minutes{1} == seconds{0}) return print("%d min", amount / minutes{1});
  return print("%d s", amount.count());
}

std::string change_text(const ZoneSpan& later, local_days today) {
  const bool forward = later.offset > later.offset_before;
  const seconds amount =
      forward ? later.offset - later.offset_before : later.offset_before - later.offset;
  return std::string{"clocks go "} + (forward ? "forward " : "back ") + amount_text(amount) +
         " at " + clock_text(later.local_before(), today);
}

// The span that starts with a clock change on this day, by the clock before or after the change;
// none on ordinary days.
std::optional<ZoneSpan> change_on(local_days today, const ZoneSpan& span, const Zone& zone) {
  const auto is_today = [today](const ZoneSpan& later) {
    const auto touches = [today](LocalTime local) {
      return std::chrono::floor<std::chrono::days>(local) == today;
    };
    return touches(later.local_begin()) || touches(later.local_before());
  };
  if (is_today(span)) return span;
  if (span.is_last()) return std::nullopt;
  const ZoneSpan following = zone.span_at(span.end);
  if (is_today(following)) return following;
  return std::nullopt;
}

}  // namespace

std::string dst_note(WallTime fire, const Zone& zone, const Cron& cron) {
  const sys_seconds instant = std::chrono::floor<seconds>(fire);
  const ZoneSpan span = zone.span_at(instant);
  const LocalTime local = span.to_local(instant);
  const local_days today = std::chrono::floor<std::chrono::days>(local);
  const std::optional<ZoneSpan> change = change_on(today, span, zone);
  if (!change) return "";

  if (instant == change->begin && change->offset > change->offset_before && !cron.matches(local)) {
    return "replaces a time skipped from " + clock_text(change->local_before(), today) + " to " +
           clock_text(change->local_begin(), today);
  }
  std::string note = change_text(*change, today);
  const LocalLookup shown = zone.lookup(local);
  if (shown.kind == LocalKind::kRepeated) {
    const char* which = instant == shown.first ? "first " : "second ";
    note = which + clock_text(local) + " of two, " + note;
  }
  return note;
}

}  // namespace carillon
