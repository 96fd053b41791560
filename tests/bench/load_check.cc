#include "tests/bench/load_check.h"

#include <cmath>
#include <string>

namespace carillon::bench {
namespace {

std::string whole(double value) { return std::to_string(std::llround(value)); }

std::string of_the_maximum(const Load& load) {
  return whole(100 * load.ended_per_second / load.maximum) + " % of the maximum (" +
         whole(load.ended_per_second) + " of " + whole(load.maximum) + " jobs/s)";
}

}  // namespace

Status check_rate(const Load& load) {
  const double percent = 100 * load.ended_per_second / load.maximum;
  if (percent >= static_cast<double>(load.least_percent)) return {};
  return Error{ErrorCode::kUnavailable,
               "under overload the rate fell to " + of_the_maximum(load) + ", and must stay at " +
                   std::to_string(load.least_percent) + " % (--at-least); other programs had " +
                   whole(load.others_percent) + " % of the CPU; turned away were " +
                   std::to_string(load.turned_away) + " jobs, told to slow down " +
                   std::to_string(load.slowed_down) + " requests, left over " +
                   std::to_string(load.left_over) + " jobs"};
}

Status check_overloaded(const Load& load) {
  // So much is on its way without overload, too.
  const double a_second = load.ended_per_second;
  const bool is_overloaded = load.turned_away > 0 || load.slowed_down > 0 ||
                             static_cast<double>(load.left_over) > a_second;
  if (is_overloaded) return {};
  return Error{ErrorCode::kUnavailable,
               "there was no overload: nothing was turned away or told to slow down, and no more "
               "jobs were left over than are run in a second (" +
                   std::to_string(load.left_over) + "), while the rate was " +
                   of_the_maximum(load) +
                   "; the maximum is too low, for other programs had the CPU when it was measured, "
                   "say (submit more with --times, or name another --maximum)"};
}

}  // namespace carillon::bench
