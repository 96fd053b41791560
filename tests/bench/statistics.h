#pragma once

#include <vector>

#include "carillon/time.h"

namespace carillon::bench {

// The value that `share` (0..1) of the values do not exceed; 0 without values.
double percentile(std::vector<double> values, double share);

// Of the same measurement, repeated.
struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};
Spread spread_of(std::vector<double> values);

inline double seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }
inline double milliseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e3;
}

}  // namespace carillon::bench
