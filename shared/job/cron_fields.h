#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "carillon/result.h"
#include "shared/job/zone.h"

// A parsed cron expression: one bit for each value of each field, so that the next match is found
// by bit operations. A plain value; it uses local times only.
//
// Thread: any.
namespace carillon {

inline constexpr int kCronYearMin = 1970;
inline constexpr int kCronYearMax = 2199;

// Years kCronYearMin to kCronYearMax, one bit each, lowest first.
using CronYears = std::array<std::uint64_t, 4>;

struct CronFields {
  std::uint64_t second_mask = 0;  // bits 0-59
  std::uint64_t minute_mask = 0;  // bits 0-59
  std::uint32_t hour_mask = 0;    // bits 0-23
  std::uint32_t month_mask = 0;   // bits 1-12

  // Day of month: a day matches if any of these matches.
  std::uint32_t day_mask = 0;                     // bits 1-31: n
  std::uint32_t from_last_mask = 0;               // bits 0-30: L-n
  std::uint32_t near_weekday_mask = 0;            // bits 1-31: nW
  std::uint32_t near_weekday_from_last_mask = 0;  // bits 0-30: L-nW

  // Day of week, bit 0 is Sunday: a day matches if any of these matches.
  std::uint8_t weekday_mask = 0;
  std::uint8_t last_weekday_mask = 0;               // nL: the last one of the month
  std::array<std::uint8_t, 5> nth_weekday_masks{};  // n#k, at index k - 1

  bool either_day = false;  // either day field may match; otherwise both must
  bool every_hour_alike =
      false;  // the hour field is * or a step from 0: the rule `auto` is `twice`
  CronYears year_mask{};

  bool operator==(const CronFields&) const = default;

  // Parses both dialects and the macros. The error names the field, the reason, and the text.
  static Result<CronFields> parse(std::string_view expression);

  bool has_year(int year) const;
  // The first matching local time at or after `from`; none if no year is left.
  std::optional<LocalTime> first_at_or_after(LocalTime from) const;
  // Matching times of day; the same on each matching day.
  std::int64_t times_a_day() const {
    return std::int64_t{std::popcount(second_mask)} * std::popcount(minute_mask) *
           std::popcount(hour_mask);
  }
  // The last year that is allowed.
  int last_year() const;

 private:
  // The matching days of a month, bits 1-31.
  std::uint32_t days_in(int year, unsigned month) const;
  std::optional<std::chrono::seconds> time_at_or_after(std::chrono::seconds time_of_day) const;
  std::chrono::seconds first_time() const;
};

}  // namespace carillon
