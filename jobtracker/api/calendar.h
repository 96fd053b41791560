#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "carillon/time.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker::api {

// The fires of definitions in a span of time, from rows of the query `list`. Fixed delays and
// counts of runs are not foreseen beyond their next fire.
//
// Thread: any.
struct CalendarQuestion {
  WallTime from{};
  WallTime until{};
  bool lists_jobs = false;  // of each fire, instead of a number for each minute
};

struct Calendar {
  using Minute = std::pair<WallTime, std::string>;  // its begin, and the node group
  struct Fire {
    WallTime at{};
    std::string group{};
    std::string task_id{};
  };
  struct ClockChange {
    WallTime at{};
    std::string zone{};
    std::int64_t change_s = 0;  // above 0: clocks go forward
  };
  std::map<Minute, std::int64_t> minutes{};
  std::vector<Fire> fires{};
  std::vector<ClockChange> changes{};
  bool is_complete = true;  // false: there are more than kCalendarFiresMax
};

inline constexpr std::int64_t kCalendarFiresMax = 500'000;
inline constexpr std::size_t kCalendarJobsMax = 1000;

Calendar calendar_of(const std::vector<wire::Row>& definitions, const CalendarQuestion& question);

}  // namespace carillon::jobtracker::api
