#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/result.h"
#include "carillon/time.h"

namespace carillon::jobtracker {

struct RecurrenceConfig {
  // How far ahead occurrences are stored in the executable tables. Longer: larger tables, and more
  // rows to void when a job changes.
  Duration horizon = std::chrono::minutes{10};
  // Interval of generation passes; shorter than the horizon, so that no occurrence is late.
  Duration period = std::chrono::minutes{9};
  // Most rows generated ahead, over all definitions. Beyond it, only fires due within seconds are
  // added, and passes are more frequent.
  std::int64_t rows_max = 200'000;
  // Most occurrences of a definition that wait in memory; with overlap `queue` further fires are
  // skipped.
  std::size_t blocked_max = 1'000;

  Status validate() const {
    if (period < horizon) return {};
    return Error{ErrorCode::kInvalidArgument,
                 "pregenerate-period must be shorter than pregenerate-horizon"};
  }
};

}  // namespace carillon::jobtracker
