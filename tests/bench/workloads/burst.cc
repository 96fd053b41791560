// How late jobs start that are all due at one instant.
#include <utility>

#include "tests/bench/history.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"
#include "tests/bench/workloads/measures.h"

namespace carillon::bench {
namespace {

constexpr const char* kEnded = "attempts_ended_total";
constexpr Duration kPatience = std::chrono::seconds{30};

Result<Figures> run(Round& round) {
  return measure_burst(round, {.groups = groups_of(round),
                               .jobs = round.flags.number("jobs"),
                               .lead = round.flags.duration("lead")});
}

}  // namespace

Result<Figures> measure_burst(Round& round, const BurstPlan& plan) {
  const auto client = CARILLON_TRY(round.cluster.client());
  if (!plan.push) {
    CARILLON_TRY(start_workers(round, plan.groups));
    CARILLON_TRY(round.cluster.await_workers());
  }
  const std::int64_t ended_before = CARILLON_TRY(read_counter(*client, kEnded));
  const WallTime due = round.clock.wall_now() + plan.lead;
  std::vector<JobSpec> specs;
  for (std::int64_t i = 0; i < plan.jobs; ++i) {
    JobSpec& job =
        specs.emplace_back(plan.push ? pushed_job(plan.groups, i) : noop_job(plan.groups, i));
    job.schedule.kind = ScheduleKind::kAt;
    job.schedule.at = due;
  }
  const auto submitted = CARILLON_TRY(submit_all(*client, std::move(specs)));
  if (round.clock.wall_now() >= due) {
    return Error{ErrorCode::kInvalidArgument,
                 "the jobs were due before all of them were submitted (give a longer --lead)"};
  }
  pause(due - round.clock.wall_now());
  Meter meter(round);
  CARILLON_TRY(await_counter(*client, kEnded, ended_before + plan.jobs, kPatience));
  meter.stop();
  CARILLON_TRY(round.cluster.stop_workers());
  const auto lateness_ms = CARILLON_TRY(check_jobs(*client, plan.groups, submitted, due));
  Figures figures{{"first started", "ms", percentile(lateness_ms, 0)},
                  {"half started", "ms", percentile(lateness_ms, 0.5)},
                  {"last started", "ms", percentile(lateness_ms, 1)},
                  {"last ended", "ms", milliseconds(meter.elapsed())}};
  meter.add_to(figures, submitted.size());
  return figures;
}

Workload burst_workload() {
  Verb verb{
      .name = "burst",
      .summary = "Jobs that are all due at one instant",
      .description =
          "Submits jobs for one instant to come, and reads from the history how late each "
          "was started. Fails if a job was lost or ended twice, or has another time there or an "
          "earlier start."};
  verb.options = worker_options();
  verb.options.push_back(jobs_option("10000"));
  verb.options.push_back({.name = "lead",
                          .kind = OptionKind::kDuration,
                          .placeholder = "TIME",
                          .help = "From the first submission to the instant.",
                          .fallback = "8s"});
  return {.verb = std::move(verb), .run = run, .ends_all = true};
}

}  // namespace carillon::bench
