#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/result.h"
#include "carillon/time.h"

namespace carillon::jobtracker {

struct RecurrenceConfig {
  // How far ahead occurrences stand in the executable tables. Longer means larger tables, and more
  // rows to void when a job is changed.
  Duration horizon = std::chrono::minutes{10};
  // How often the next stretch is generated; shorter than the horizon, so that none is ever late.
  Duration period = std::chrono::minutes{9};
  // Rows generated ahead of their time, of all definitions; when there are so many, only what fires
  // within seconds is added, and the passes come more often.
  std::int64_t rows_max = 200'000;
  // Occurrences of one definition that may be held in memory; by overlap `queue` more are skipped.
  std::size_t parked_max = 1'000;

  Status validate() const {
    if (period < horizon) return {};
    return Error{ErrorCode::kInvalidArgument,
                 "pregenerate-period must be shorter than pregenerate-horizon"};
  }
};

}  // namespace carillon::jobtracker
