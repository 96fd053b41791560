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

// Results that executors tell a job tracker which does not look after their runs: stored for the
// one that does, which takes them from the store.
//
// Thread: the loop.
class ResultInbox {
 public:
  using Take = std::function<void(ExecutorResults, OnStored)>;

  // `take`: takes results of runs of this job tracker. The references must outlive it.
  ResultInbox(const Ownership& ownership, Batcher& batcher, IdSource& ids, SchedulingClock& clock,
              Take take);

  // Calls `then` once what others were told before now is taken, so that the first result counts
  // whomever it was told; at once where there are no others.
  void after_others(std::function<void()> then);
  // For another job tracker.
  void put(std::vector<wire::xxl::RunResult> results, OnStored done);
  // Called about each half second: takes what others have stored for this one.
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
  std::vector<std::function<void()>> after_this_;  // for the reading under way, or that failed
  std::vector<std::function<void()>> after_next_;
};

}  // namespace carillon::jobtracker
