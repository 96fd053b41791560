#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/time.h"
#include "shared/base/clock.h"

namespace carillon::jobtracker {

// How many rows of a bulk load may be stored while jobs run. What is stored besides makes batches
// longer, and task trackers wait for their next jobs meanwhile; so without a bound the rate falls
// just when more comes than can be run.
//
// Jobs that run take rows too, two each. While those are up to a twelfth of what the store's
// statements can write, nothing is bounded; from there on what may come with them shrinks, down to
// half of them: then as many jobs are stored as run, and the backlog does not grow.
//
// Thread: the loop.
class BulkRoom {
 public:
  // A batch is made now. The store writes `limit` rows in `time`.
  void make_batch(SteadyTime now, std::size_t limit, Duration time);
  // Rows of claims and ends are in it.
  void ran(std::size_t rows);
  // Rows of a bulk load are in it; more than there is room for are made up for later.
  void took(std::size_t rows);
  bool is_used_up() const { return room_ <= 0; }

 private:
  SteadyTime weighed_at_{};
  std::int64_t ran_ = 0;   // since then
  std::int64_t room_ = 1;  // in halves of a row
};

}  // namespace carillon::jobtracker
