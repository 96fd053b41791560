#pragma once

#include <array>
#include <string>
#include <vector>

#include "carillon/job_spec.h"
#include "carillon/time.h"
#include "shared/job/zone.h"

// What a cron expression means, written as slowly and plainly as the guide says it: every day,
// hour, minute and second is held against the text of its field, and each local time is looked up
// in the zone. Shares no code with shared/job but the zone. For tests only.
//
// Requires: an expression that Cron::parse accepts (or refuses only because it never fires).
//
// Thread: any.
namespace carillon::testing {

class CronReference {
 public:
  explicit CronReference(const std::string& expression);

  // Every fire later than `after` up to and including `until`, in order.
  std::vector<WallTime> fires(WallTime after, WallTime until, const Zone& zone, DstRule rule) const;
  // Whether any date of the years 1970-2199 matches.
  bool has_date() const;
  // How many seconds of a day match, for choosing how much to compare.
  std::size_t fires_of_a_day() const;

 private:
  bool matches_date(std::chrono::local_days day) const;
  bool matches_day_of_month(std::chrono::year_month_day date) const;
  bool matches_weekday(std::chrono::year_month_day date) const;

  bool unix_dialect_ = false;
  std::array<std::string, 7> fields_{};  // second minute hour day month weekday year
  std::vector<int> seconds_{};
  std::vector<int> minutes_{};
  std::vector<int> hours_{};
};

}  // namespace carillon::testing
