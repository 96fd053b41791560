#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "carillon/task_tracker.h"
#include "shared/runtime/wakeup.h"
#include "tests/bench/workload.h"

namespace carillon::bench {

// Submits single jobs, one after the other, to a task tracker inside this process, so that both
// ends of a job's way are read from one steady clock.
//
// Thread: the one that opened it.
class Prober {
 public:
  // A group of its own, `group`.
  static Result<std::unique_ptr<Prober>> open(const Round& round, const std::string& group,
                                              int threads);

  struct Sample {
    double started_ms = 0;   // from just before the call to the first line of the handler
    double answered_ms = 0;  // until the call returned: the job is on disk
  };
  Result<Sample> take();

  // Whether each job of take() has ended once. Requires: as many have ended.
  Status check(JobClient& client) const;
  std::size_t jobs() const { return submitted_.size(); }

 private:
  Prober(const Clock& clock, std::string group) : clock_(clock), groups_{std::move(group)} {}

  const Clock& clock_;
  const std::vector<std::string> groups_;  // one
  std::vector<JobId> submitted_{};
  std::unique_ptr<JobClient> client_{};
  std::atomic<std::int64_t> started_us_{0};
  Wakeup started_{};
  Wakeup ready_{};
  std::unique_ptr<TaskTracker> worker_{};  // the last: its threads use all of the above
};

// Percentiles of both times of the samples.
void add_samples(Figures& figures, const std::string& prefix,
                 const std::vector<Prober::Sample>& samples);

}  // namespace carillon::bench
