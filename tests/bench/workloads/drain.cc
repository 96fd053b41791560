// How fast waiting jobs are run: they are all there before the first task tracker starts.
#include <utility>

#include "tests/bench/history.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"
#include "tests/bench/workloads/measures.h"

namespace carillon::bench {
namespace {

constexpr Duration kPatience = std::chrono::seconds{20};

Result<Figures> run(Round& round) {
  return measure_drain(round, groups_of(round), round.flags.number("jobs"),
                       round.flags.is_on("task-ids"));
}

}  // namespace

Result<Figures> measure_drain(Round& round, const std::vector<std::string>& groups,
                              std::int64_t jobs, bool task_ids) {
  const auto client = CARILLON_TRY(round.cluster.client());
  std::vector<JobSpec> specs;
  for (std::int64_t i = 0; i < jobs; ++i) {
    JobSpec& job = specs.emplace_back(noop_job(groups, i));
    if (task_ids) job.task_id = "bench-" + std::to_string(i);
  }
  const auto submitted = CARILLON_TRY(submit_all(*client, std::move(specs)));
  const std::int64_t ended_before = CARILLON_TRY(read_counter(*client, "attempts_ended_total"));

  Meter meter(round);
  CARILLON_TRY(start_workers(round, groups));
  CARILLON_TRY(await_counter(*client, "attempts_ended_total", ended_before + jobs, kPatience));
  meter.stop();

  // Before the history is read, so that it has all that they will ever report.
  CARILLON_TRY(round.cluster.await_workers());
  CARILLON_TRY(round.cluster.stop_workers());
  CARILLON_TRY(check_jobs(*client, groups, submitted));
  Figures figures{{"drained", "jobs/s", static_cast<double>(jobs) / seconds(meter.elapsed())}};
  meter.add_to(figures, submitted.size());
  return figures;
}

Workload drain_workload() {
  Verb verb{.name = "drain",
            .summary = "Waiting jobs, run by task trackers that start now",
            .description =
                "Submits jobs, then starts task trackers and takes the time until the "
                "last end is in the history. Fails if a job was lost or ended twice."};
  verb.options = worker_options();
  verb.options.push_back(jobs_option("200000"));
  verb.options.push_back({.name = "task-ids",
                          .kind = OptionKind::kSwitch,
                          .help = "Jobs have task ids of their own, which costs an index."});
  return {.verb = std::move(verb), .run = run, .ends_all = true, .warm_up = 1};
}

}  // namespace carillon::bench
