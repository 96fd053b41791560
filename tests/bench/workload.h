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

// What a workload works with: a store and processes of its own, fresh in every round.
struct Round {
  const Configuration& flags;
  const Clock& clock;
  const BenchStore& store;
  std::string store_url{};
  Cluster& cluster;     // its job tracker is ready, unless the workload wants to start it
  std::string group{};  // no round before had it, nor any name that begins so
};

struct Workload {
  Verb verb{};  // its name and flags
  // Fails if a job was lost or ended twice: a wrong system has no speed.
  Result<Figures> (*run)(Round& round) = nullptr;
  bool starts_tracker = false;  // by itself, or never
  bool ends_all = false;        // its jobs: none of them waits or executes after it
  bool has_store = true;        // without one no figure says what a commit survives
  int warm_up = 0;              // rounds that do not count; 0 where it warms up by itself
};

// ---- what several workloads share ----

// A number from 1 on.
Option number_option(const std::string& name, const std::string& help, const std::string& fallback,
                     std::int64_t max);
Option jobs_option(const std::string& fallback);
Option seconds_option(const std::string& help, const std::string& fallback);
std::vector<Option> worker_options();

// As many as --groups says, for the workers of start_workers() below.
std::vector<std::string> groups_of(const Round& round);
// As worker_options() say.
Status start_workers(const Round& round, const std::vector<std::string>& groups);

// A job for now of the handler `noop`, with 100 bytes of payload. Groups and priorities, of which
// there are five, are mixed by `number`.
JobSpec noop_job(const std::vector<std::string>& groups, std::int64_t number);

// Such a job for an executor of xxl-job, called whether its run before has ended or not.
JobSpec pushed_job(const std::vector<std::string>& groups, std::int64_t number);

// Submits all of them and gives their ids; an error unless every one is accepted.
Result<std::vector<JobId>> submit_all(JobClient& client, std::vector<JobSpec> jobs);

// p50, p90, p99, p99.9 and the most of `values_ms`, each a figure: "lateness p50".
void add_percentiles(Figures& figures, const std::string& what,
                     const std::vector<double>& values_ms);
// All of `more`, with the prefix before their names.
void add_all(Figures& figures, const std::string& prefix, const Figures& more);
// How large a share is no larger than each of some bounds.
void add_histogram(Figures& figures, const std::string& what, const std::vector<double>& values_ms);

// Sleeps.
void pause(Duration time);

}  // namespace carillon::bench
