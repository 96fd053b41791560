#include "shared/job/cron_fields.h"

#include <algorithm>

namespace carillon {

namespace {

using std::chrono::local_days;
using std::chrono::seconds;

constexpr LocalTime kFirstTime{seconds{0}};
constexpr LocalTime kEndTime =
    local_days{std::chrono::year{kCronYearMax + 1} / std::chrono::January / 1};
static_assert(kFirstTime == local_days{std::chrono::year{kCronYearMin} / std::chrono::January / 1});

constexpr std::uint32_t bit(unsigned index) { return std::uint32_t{1} << index; }

// The bits from `index` on, for `index` up to 32.
constexpr std::uint32_t from(unsigned index) { return index > 31 ? 0 : ~std::uint32_t{0} << index; }

int first_of(std::uint64_t mask) { return std::countr_zero(mask); }

unsigned length_of(int year, unsigned month) {
  const std::chrono::year_month_day_last last{
      std::chrono::year{year}, std::chrono::month_day_last{std::chrono::month{month}}};
  return static_cast<unsigned>(last.day());
}

LocalTime midnight(int year, unsigned month, unsigned day) {
  return local_days{std::chrono::year{year} / static_cast<int>(month) / static_cast<int>(day)};
}

// A month for the day fields.
struct Month {
  unsigned length;         // 28 to 31
  unsigned first_weekday;  // of day 1, 0 is Sunday

  unsigned weekday_of(unsigned day) const { return (first_weekday + day - 1) % 7; }

  // The weekday (Monday to Friday) nearest to an existing day, within the month.
  unsigned nearest_weekday(unsigned day) const {
    constexpr unsigned kSunday = 0;
    constexpr unsigned kSaturday = 6;
    if (weekday_of(day) == kSaturday) return day > 1 ? day - 1 : day + 2;
    if (weekday_of(day) == kSunday) return day < length ? day + 1 : day - 2;
    return day;
  }

  // The days of a weekday mask.
  std::uint32_t days_on(std::uint8_t weekdays) const {
    constexpr std::uint64_t kEveryWeek = 1 | std::uint64_t{1} << 7 | std::uint64_t{1} << 14 |
                                         std::uint64_t{1} << 21 | std::uint64_t{1} << 28 |
                                         std::uint64_t{1} << 35;
    // Bit 0 of the product is the Sunday on or before day 1, which must be at bit 1.
    return static_cast<std::uint32_t>((weekdays * kEveryWeek) >> first_weekday << 1);
  }
};

}  // namespace

bool CronFields::has_year(int year) const {
  if (year < kCronYearMin || year > kCronYearMax) return false;
  const auto index = static_cast<unsigned>(year - kCronYearMin);
  return (year_mask[index / 64] >> (index % 64) & 1) != 0;
}

int CronFields::last_year() const {
  int year = kCronYearMax;
  while (year > kCronYearMin && !has_year(year)) --year;
  return year;
}

std::uint32_t CronFields::days_in(int year, unsigned month) const {
  const local_days first{std::chrono::year{year} / static_cast<int>(month) / 1};
  const Month shape{length_of(year, month), std::chrono::weekday{first}.c_encoding()};

  std::uint32_t by_date = day_mask;
  for (std::uint32_t rest = from_last_mask; rest != 0; rest &= rest - 1) {
    const auto back = static_cast<unsigned>(first_of(rest));
    if (back < shape.length) by_date |= bit(shape.length - back);
  }
  for (std::uint32_t rest = near_weekday_mask; rest != 0; rest &= rest - 1) {
    const auto day = static_cast<unsigned>(first_of(rest));
    if (day <= shape.length) by_date |= bit(shape.nearest_weekday(day));
  }
  for (std::uint32_t rest = near_weekday_from_last_mask; rest != 0; rest &= rest - 1) {
    const auto back = static_cast<unsigned>(first_of(rest));
    if (back < shape.length) by_date |= bit(shape.nearest_weekday(shape.length - back));
  }

  std::uint32_t by_weekday = shape.days_on(weekday_mask);
  if (last_weekday_mask != 0)
    by_weekday |= shape.days_on(last_weekday_mask) & from(shape.length - 6);
  for (unsigned week = 0; week < nth_weekday_masks.size(); ++week) {
    if (nth_weekday_masks[week] == 0) continue;
    const std::uint32_t seven_days = from(1 + 7 * week) & ~from(8 + 7 * week);
    by_weekday |= shape.days_on(nth_weekday_masks[week]) & seven_days;
  }

  const std::uint32_t exist = from(1) & ~from(shape.length + 1);
  return (either_day ? by_date | by_weekday : by_date & by_weekday) & exist;
}

seconds CronFields::first_time() const {
  return seconds{first_of(hour_mask) * 3600 + first_of(minute_mask) * 60 + first_of(second_mask)};
}

std::optional<seconds> CronFields::time_at_or_after(seconds time_of_day) const {
  const auto total = static_cast<unsigned>(time_of_day.count());
  const unsigned hour = total / 3600;
  const unsigned minute = total / 60 % 60;
  const unsigned second = total % 60;
  if ((hour_mask >> hour & 1) != 0) {
    const std::uint64_t later_minutes = minute_mask >> minute;
    if ((later_minutes & 1) != 0 && (second_mask >> second) != 0) {
      return seconds{total + static_cast<unsigned>(first_of(second_mask >> second))};
    }
    if ((later_minutes >> 1) != 0) {
      const unsigned next = minute + 1 + static_cast<unsigned>(first_of(later_minutes >> 1));
      return seconds{hour * 3600 + next * 60 + static_cast<unsigned>(first_of(second_mask))};
    }
  }
  const std::uint32_t later_hours = hour_mask & from(hour + 1);
  if (later_hours == 0) return std::nullopt;
  return seconds{first_of(later_hours) * 3600 + first_of(minute_mask) * 60 + first_of(second_mask)};
}

std::optional<LocalTime> CronFields::first_at_or_after(LocalTime start) const {
  start = std::max(start, kFirstTime);
  if (start >= kEndTime) return std::nullopt;
  const auto today = std::chrono::floor<std::chrono::days>(start);
  const std::chrono::year_month_day date{today};
  int year = static_cast<int>(date.year());
  auto month = static_cast<unsigned>(date.month());
  const auto day = static_cast<unsigned>(date.day());

  if (has_year(year) && (month_mask & bit(month)) != 0) {
    const std::uint32_t matching = days_in(year, month);
    if ((matching & bit(day)) != 0) {
      if (const auto time = time_at_or_after(start - today)) return LocalTime{today} + *time;
    }
    if (const std::uint32_t later = matching & from(day + 1); later != 0) {
      return midnight(year, month, static_cast<unsigned>(first_of(later))) + first_time();
    }
  }
  for (; year <= kCronYearMax; ++year, month = 0) {
    if (!has_year(year)) continue;
    for (std::uint32_t rest = month_mask & from(month + 1); rest != 0; rest &= rest - 1) {
      month = static_cast<unsigned>(first_of(rest));
      const std::uint32_t matching = days_in(year, month);
      if (matching == 0) continue;
      return midnight(year, month, static_cast<unsigned>(first_of(matching))) + first_time();
    }
  }
  return std::nullopt;
}

}  // namespace carillon
