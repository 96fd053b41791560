#include "shared/job/local_time.h"

#include <array>
#include <chrono>
#include <cstdio>

namespace carillon {

std::string local_text(WallTime time, const Zone& zone) {
  const auto instant = std::chrono::floor<std::chrono::seconds>(time);
  const ZoneSpan span = zone.span_at(instant);
  const LocalTime local = span.to_local(instant);
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{local - day};
  const auto offset = std::chrono::duration_cast<std::chrono::minutes>(span.offset).count();
  const auto offset_size = offset < 0 ? -offset : offset;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d%c%02d:%02d",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), offset < 0 ? '-' : '+',
                static_cast<int>(offset_size / 60), static_cast<int>(offset_size % 60));
  return text.data();
}

std::string local_text_for_people(WallTime time, const Zone& zone) {
  constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  const LocalTime local = zone.to_local(std::chrono::floor<std::chrono::seconds>(time));
  const std::chrono::weekday day{std::chrono::floor<std::chrono::days>(local)};
  std::string text = local_text(time, zone);
  text[10] = ' ';
  text.insert(19, " ");
  return std::string{kDays[day.c_encoding()]} + " " + text;
}

}  // namespace carillon
