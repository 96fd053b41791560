#include "tests/bench/statistics.h"

#include <algorithm>
#include <cmath>

namespace carillon::bench {

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const auto index =
      static_cast<std::size_t>(std::clamp(rank - 1, 0.0, static_cast<double>(values.size() - 1)));
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  // Of an even number the mean of the two in the middle.
  const double median = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
  return {.median = median, .min = values.front(), .max = values.back()};
}

}  // namespace carillon::bench
