#include "tasktracker/metrics/worker_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::tasktracker {
namespace {

using ::testing::HasSubstr;

TEST(WorkerMetrics, CountRunsOutputAndFreeThreads) {
  WorkerMetrics metrics(4);
  metrics.ended(wire::RunOutcome::kSucceeded, std::chrono::milliseconds{5});
  metrics.ended(wire::RunOutcome::kTimedOut, std::chrono::seconds{7});
  metrics.ended(wire::RunOutcome::kException, std::chrono::seconds{1});
  metrics.ended(wire::RunOutcome::kFailed, std::chrono::seconds{1});
  metrics.wrote({{.bytes = "hello"}, {.bytes = " there"}});
  metrics.set(6, {.pulls = 3, .registrations = 2, .unconfirmed = 1, .is_registered = true});
  metrics.executor_ended(true);
  const std::string text = to_prometheus_text(metrics.metrics());
  for (const char* line :
       {"carillon_worker_threads 4", "carillon_worker_threads_free 0",
        "carillon_worker_jobs_running 4", "carillon_worker_jobs_queued 2",
        "carillon_worker_runs_total{outcome=\"succeeded\"} 1",
        "carillon_worker_runs_total{outcome=\"timed_out\"} 1",
        "carillon_worker_runs_total{outcome=\"failed\"} 2",
        "carillon_worker_run_seconds_bucket{le=\"0.005\"} 1", "carillon_worker_run_seconds_count 4",
        "carillon_worker_output_bytes_total 11", "carillon_worker_pulls_total 3",
        "carillon_worker_registrations_total 2", "carillon_worker_registered 1",
        "carillon_worker_results_unconfirmed 1",
        "carillon_worker_executor_runs_total{outcome=\"succeeded\"} 1"}) {
    EXPECT_THAT(text, HasSubstr(std::string{line} + "\n"));
  }
}

}  // namespace
}  // namespace carillon::tasktracker
