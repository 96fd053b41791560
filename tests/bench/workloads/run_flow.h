#pragma once

#include "tests/bench/feeder.h"
#include "tests/bench/workload.h"

// Jobs that are submitted, run and ended at the same time, for a number of seconds.
namespace carillon::bench {

struct FlowPlan {
  Feed feed{};
  std::int64_t seconds = 60;
  Duration warm_up = std::chrono::seconds{3};  // before the seconds that count
  std::string probe_group{};                   // of single jobs beside it; empty: none
};

struct FlowSeen {
  double ended_per_second = 0;
  double accepted_per_second = 0;
  Fed fed{};
  Duration recovered{};               // from the last submission to the last end
  std::vector<double> lateness_ms{};  // of all jobs, from when the job tracker took them
  Figures probes{};                   // of the single jobs
  Figures cost{};                     // of a job, and of the machine
  double others_percent = 0;          // of the CPU
  std::int64_t slowed_down = 0;       // requests that the job tracker told to slow down
  std::int64_t left_over = 0;         // accepted jobs that had not ended after the seconds
};

// Starts the workers of --workers and stops them again. Fails unless each accepted job ended once.
Result<FlowSeen> run_flow(Round& round, const FlowPlan& plan);

}  // namespace carillon::bench
