#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "carillon/time.h"
#include "shared/metrics/histogram.h"
#include "shared/metrics/metric.h"
#include "shared/wire/messages.h"
#include "tasktracker/tracker_link.h"

namespace carillon::tasktracker {

// Counts what a worker does.
//
// Thread: any. The loop records, others read: the numbers of one moment may differ by an event.
class WorkerMetrics {
 public:
  explicit WorkerMetrics(int threads) : threads_(threads) {}

  // A run for a job tracker has ended.
  void ended(wire::RunOutcome outcome, Duration run_time) {
    // Only the job tracker knows whether a failure is retried.
    if (outcome == wire::RunOutcome::kException) outcome = wire::RunOutcome::kFailed;
    ++ended_[static_cast<std::size_t>(outcome)];
    run_times_.record(run_time);
  }
  void wrote(const std::vector<wire::OutputChunk>& chunks) {
    for (const wire::OutputChunk& chunk : chunks)
      output_bytes_ += static_cast<std::int64_t>(chunk.bytes.size());
  }
  // `held`: jobs that it has and that have not ended.
  void set(int held, const LinkCounts& link) {
    held_ = held;
    pulls_ = link.pulls;
    registrations_ = link.registrations;
    unconfirmed_ = link.unconfirmed;
    is_registered_ = link.is_registered ? 1 : 0;
  }
  // A run for an xxl-job admin has ended.
  void executor_ended(bool has_succeeded) {
    ++(has_succeeded ? executor_succeeded_ : executor_failed_);
  }

  std::vector<Metric> metrics() const;

 private:
  static constexpr std::size_t kOutcomes = 7;  // of wire::RunOutcome
  using Number = std::atomic<std::int64_t>;

  const std::int64_t threads_;
  std::array<Number, kOutcomes> ended_{};
  SharedHistogram<kTimeBounds> run_times_{};
  Number output_bytes_{0};
  Number held_{0};
  Number pulls_{0};
  Number registrations_{0};
  Number unconfirmed_{0};
  Number is_registered_{0};
  Number executor_succeeded_{0};
  Number executor_failed_{0};
};

}  // namespace carillon::tasktracker
