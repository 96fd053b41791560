#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/time.h"
#include "shared/base/clock.h"

namespace carillon::jobtracker {

// Limits the rows of bulk loads that are stored while jobs run. Bulk rows lengthen batches, and
// task trackers wait for their next jobs meanwhile; without a limit the rate of runs falls exactly
// when jobs arrive faster than they run.
//
// A running job needs two rows. While these take at most a twelfth of the store's capacity, there
// is no limit. Above that, the allowed share of bulk rows shrinks, down to half of the rows of
// running jobs: then jobs are stored as fast as they run, and the backlog does not grow.
//
// Thread: the loop.
class BulkRoom {
 public:
  // A batch is built now. The store writes `limit` rows in `time`.
  void make_batch(SteadyTime now, std::size_t limit, Duration time);
  // It has this many rows of claims and ends.
  void ran(std::size_t rows);
  // It has this many rows of a bulk load; an excess reduces later batches.
  void took(std::size_t rows);
  bool is_used_up() const { return room_ <= 0; }

 private:
  SteadyTime weighed_at_{};
  std::int64_t ran_ = 0;   // start of the interval
  std::int64_t room_ = 1;  // in half rows
};

}  // namespace carillon::jobtracker
