#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/time.h"
#include "jobtracker/api/api.h"

namespace carillon::jobtracker::api {

// The fires of definitions in a span of time, counted by minute and node group. The job trackers
// count them, so a calendar of many definitions is small.
//
// Thread: any.
struct Calendar {
  struct Minute {
    std::int32_t minute = 0;  // since 1970
    std::int32_t group = 0;   // in `groups`
    std::int64_t fires = 0;
  };
  std::vector<Minute> minutes{};      // after sort(): by minute and name of the group, each once
  std::vector<std::string> groups{};  // their names
  std::vector<std::string> zones{};   // of their schedules, by name
  bool is_complete = true;            // false: there are more than kCalendarFiresMax

  // Adds a row of the query `calendar`. Returns its number of fires. What is no count of a minute
  // is left out.
  std::int64_t add(const wire::Row& row);
  void sort();
};

inline constexpr std::int64_t kCalendarFiresMax = 500'000;

struct CalendarQuestion {
  WallTime from{};
  WallTime until{};
  std::string group{};      // empty: all
  bool lists_jobs = false;  // of each fire, instead of a number for each minute
};

// Asks for the calendar, not sorted. On an error, the call is answered with it. Thread: the
// gateway's.
void ask_calendar(Api& api, const ExchangePtr& exchange, const CalendarQuestion& question,
                  std::function<void(Calendar)> then);

struct ClockChange {
  WallTime at{};
  std::string zone{};
  std::int64_t change_s = 0;  // above 0: clocks go forward
};
// By zone and time.
std::vector<ClockChange> clock_changes(const std::vector<std::string>& zones, WallTime from,
                                       WallTime until);

}  // namespace carillon::jobtracker::api
