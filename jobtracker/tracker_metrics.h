#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "jobtracker/query/query.h"
#include "jobtracker/state/group_levels.h"
#include "jobtracker/state/group_metrics.h"
#include "shared/metrics/histogram.h"
#include "shared/metrics/metric.h"

namespace carillon::jobtracker {

// Groups beyond this number have no samples of their own: a monitoring system keeps each for long.
inline constexpr std::size_t kNamedGroupsMax = 200;
inline constexpr const char* kOtherGroups = "other";

// The metrics of a job tracker as numbers, copied from the loop.
struct TrackerMetrics {
  struct OfGroup {
    std::string name{};
    GroupCounts counts{};
    GroupLevels levels{};
  };
  std::vector<Stat> stats{};
  std::vector<OfGroup> groups{};
  ShortTimeHistogram commit_times{};
  Histogram<kSizeBounds> claim_batches{};
};

// Metrics with their names and help texts, for Prometheus. Thread: any.
std::vector<Metric> metrics_of(const TrackerMetrics& numbers);

}  // namespace carillon::jobtracker
