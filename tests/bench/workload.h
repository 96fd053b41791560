#pragma once

#include <string>
#include <vector>

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "shared/base/clock.h"
#include "shared/base/configuration.h"
#include "tests/bench/bench_store.h"
#include "tests/bench/cluster.h"

// A workload is a file in workloads/, a function in workloads/all.h and a line in main.cc.
namespace carillon::bench {

// One number of a report.
struct Figure {
  std::string name{};
  std::string unit{};
  double value = 0;
};
using Figures = std::vector<Figure>;

// What a workload works with: a job tracker of its own, fresh in every round.
struct Round {
  const Configuration& flags;
  const Clock& clock;
  const BenchStore& store;
  Cluster& cluster;
  std::string group{};  // of all its jobs; no round before had it
};

struct Workload {
  Verb verb{};  // its name and flags
  // Fails if a job was lost or ended twice: a wrong system has no speed.
  Result<Figures> (*run)(Round& round) = nullptr;
};

// ---- what several workloads share ----

Option jobs_option(const std::string& fallback);
std::vector<Option> worker_options();

// A job for now of the handler `noop`, with 100 bytes of payload. Priorities are mixed: `number`
// chooses one of five.
JobSpec noop_job(const std::string& group, std::int64_t number);

// Submits all of them and gives their ids; an error unless every one is accepted.
Result<std::vector<std::string>> submit_all(JobClient& client, std::vector<JobSpec> jobs);

// Sleeps.
void pause(Duration time);

}  // namespace carillon::bench
