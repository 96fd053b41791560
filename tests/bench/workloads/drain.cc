// How fast waiting jobs are run: they are all there before the first task tracker starts.
#include <utility>

#include "tests/bench/end_check.h"
#include "tests/bench/history.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"

namespace carillon::bench {
namespace {

constexpr Duration kPatience = std::chrono::seconds{20};

// From just before the worker processes are started to the moment when the job tracker says that
// the last end is committed; so the start of two processes is in it.
Result<Figures> run(Round& round) {
  const auto jobs = static_cast<std::size_t>(round.flags.number("jobs"));
  const auto client = CARILLON_TRY(round.cluster.client());
  std::vector<JobSpec> specs;
  for (std::size_t i = 0; i < jobs; ++i) {
    JobSpec& job = specs.emplace_back(noop_job(round.group, static_cast<std::int64_t>(i)));
    if (round.flags.is_on("task-ids")) job.task_id = "bench-" + std::to_string(i);
  }
  const auto submitted = CARILLON_TRY(submit_all(*client, std::move(specs)));

  Meter meter(round);
  CARILLON_TRY(round.cluster.start_workers(static_cast<int>(round.flags.number("workers")),
                                           static_cast<int>(round.flags.number("threads")),
                                           round.group));
  CARILLON_TRY(
      await_counter(*client, "attempts_ended_total", static_cast<std::int64_t>(jobs), kPatience));
  meter.stop();

  std::vector<End> ends;
  for (HistoryRow& row : CARILLON_TRY(read_history(*client, round.group))) {
    ends.push_back({.key = std::move(row.job_id), .state = std::move(row.state)});
  }
  CARILLON_TRY(check_each_succeeded_once(submitted, ends));
  Figures figures{{"drained", "jobs/s", static_cast<double>(jobs) / seconds(meter.elapsed())}};
  meter.add_to(figures, jobs);
  return figures;
}

}  // namespace

Workload drain_workload() {
  Verb verb{.name = "drain",
            .summary = "Waiting jobs, run by task trackers that start now",
            .description =
                "Submits jobs, then starts task trackers and takes the time until the "
                "last end is in the history. Fails if a job was lost or ended twice."};
  verb.options = worker_options();
  verb.options.push_back(jobs_option("20000"));
  verb.options.push_back({.name = "task-ids",
                          .kind = OptionKind::kSwitch,
                          .help = "Jobs have task ids of their own, which costs an index."});
  return {.verb = std::move(verb), .run = run};
}

}  // namespace carillon::bench
