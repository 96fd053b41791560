#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "jobtracker/state/executor_requests.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// Passes results that executors report to a job tracker that does not own their runs: it stores
// them, and the owner reads them.
//
// Thread: the loop.
class ResultInbox {
 public:
  using Take = std::function<void(ExecutorResults, OnStored)>;

  // `take`: processes results of this job tracker's runs. The references must outlive this object.
  ResultInbox(const Ownership& ownership, Batcher& batcher, IdSource& ids, SchedulingClock& clock,
              Take take);

  // Calls `then` after all results that others have stored until now were processed: the first
  // result counts, whichever job tracker received it. Immediate if there are no other job trackers.
  void after_others(std::function<void()> then);
  // Stores results for another job tracker.
  void put(std::vector<wire::xxl::RunResult> results, OnStored done);
  // Called every half second: processes the results that others stored for this job tracker.
  void run_once();
  Sizes sizes() const {
    return {{"under_way", under_way_.size()}, {"waiting", after_this_.size() + after_next_.size()}};
  }

 private:
  void read();
  void read_behind(std::int64_t id);
  void take_all(std::vector<ExecutorResult> rows);

  const Ownership& ownership_;
  Batcher& batcher_;
  IdSource& ids_;
  SchedulingClock& clock_;
  const Take take_;
  SteadyTime read_at_{};
  bool may_have_some_ = true;
  bool is_reading_ = false;
  std::set<std::int64_t> under_way_;
  std::vector<std::function<void()>> after_this_;  // waiting for the current or failed read
  std::vector<std::function<void()>> after_next_;
};

}  // namespace carillon::jobtracker
