// What a large number of waiting jobs costs: start-up, memory, and the figures of the other
// workloads once more.
#include <utility>

#include "tests/bench/direct_store.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"
#include "tests/bench/workloads/measures.h"

namespace carillon::bench {
namespace {

using namespace jobtracker;

constexpr std::int64_t kJobsOfAUnit = 1000;
constexpr std::size_t kAhead = 20'000;
// One in so many waits for a worker of its group, which never comes; the others for their day.
constexpr std::int64_t kDueOneIn = 100;
constexpr Duration kDay = std::chrono::hours{24};
constexpr Duration kSpread = 30 * kDay;

// Past the job tracker, into the store: a client would take hours.
Status fill(Round& round, std::int64_t jobs) {
  // Nothing waits behind a commit here, so they may be long.
  BatcherConfig config;
  config.rows_time_aim = std::chrono::seconds{1};
  const auto store = CARILLON_TRY(DirectStore::open(round.store_url, round.clock, config));
  const std::string name = round.group + "-backlog";
  const GroupId group = CARILLON_TRY(store->make_group(name));
  const WallTime now = round.clock.wall_now();
  const WallTime tomorrow = now + kDay;
  for (std::int64_t number = 0; number < jobs || store->batcher().pending_rows() > 0;) {
    while (number < jobs && store->batcher().pending_rows() < kAhead) {
      std::vector<Operation> operations;
      for (std::int64_t i = 0; i < kJobsOfAUnit && number < jobs; ++i, ++number) {
        JobSpec spec = noop_job({name}, number);
        const bool is_due = number % kDueOneIn == 0;
        if (!is_due) {
          // The same distance apart, but not in the order of their times.
          spec.schedule.kind = ScheduleKind::kAt;
          spec.schedule.at = tomorrow + Duration{(number * 7'919'777'777) % kSpread.count()};
        }
        const WallTime due = is_due ? now : spec.schedule.at;
        WaitingJob job = store->make_job(std::move(spec), group, due);
        job.delayed = !is_due;
        operations.emplace_back(AddJob{.job = std::move(job)});
      }
      store->batcher().post_unit(
          Urgency::kBulk, std::move(operations),
          [](std::vector<Operation>&, const std::vector<Outcome>&, const Error*) {});
    }
    CARILLON_TRY(store->commit_one());
  }
  return {};
}

double peak_memory_mib(const Round& round) {
  return static_cast<double>(round.cluster.tracker_usage().peak_memory_kib) / 1024;
}

Result<Figures> run(Round& round) {
  const std::int64_t jobs = round.flags.number("waiting");
  Figures figures;
  const SteadyTime begin = round.clock.steady_now();
  CARILLON_TRY(fill(round, jobs));
  const SteadyTime filled = round.clock.steady_now();
  CARILLON_TRY(round.cluster.start_tracker());
  const SteadyTime ready = round.clock.steady_now();
  const auto since = [](SteadyTime from, SteadyTime to) {
    return seconds(std::chrono::duration_cast<Duration>(to - from));
  };
  figures.push_back({"filled, past the job tracker", "s", since(begin, filled)});
  figures.push_back({"from start to ready", "s", since(filled, ready)});
  figures.push_back({"jobtracker memory when ready, peak", "MiB", peak_memory_mib(round)});
  // The workers of the drain are gone before the schedules, which go on for ever, get theirs.
  add_all(figures, "latency: ", CARILLON_TRY(measure_latency(round, {.group = round.group})));
  std::vector<std::string> drained;
  std::vector<std::string> fired;
  for (const std::string& group : groups_of(round)) {
    drained.push_back(group + "-drain");
    fired.push_back(group + "-fires");
  }
  add_all(figures, "drain: ",
          CARILLON_TRY(measure_drain(round, drained, round.flags.number("jobs"), false)));
  add_all(figures, "cron: ",
          CARILLON_TRY(measure_fires(round, {.groups = fired,
                                             .fires = round.flags.number("fires"),
                                             .seconds = round.flags.number("seconds")})));
  figures.push_back({"jobtracker memory in the end, peak", "MiB", peak_memory_mib(round)});
  return figures;
}

}  // namespace

Workload backlog_workload() {
  Verb verb{.name = "backlog",
            .summary = "Start-up, memory and all other figures with millions of waiting jobs",
            .description =
                "Fills the store with jobs that wait, nearly all of them for another day, starts a "
                "job tracker on it, and then measures latency, drain and cron as these workloads "
                "do. Run it with several sizes to see what grows."};
  verb.options = worker_options();
  verb.options.push_back({.name = "waiting",
                          .kind = OptionKind::kNumber,
                          .placeholder = "N",
                          .help = "How many jobs wait.",
                          .fallback = "1000000",
                          .min = 0,
                          .max = 100'000'000});
  verb.options.push_back(jobs_option("100000"));
  verb.options.push_back({.name = "fires",
                          .kind = OptionKind::kNumber,
                          .placeholder = "N",
                          .help = "Schedules, and so fires a second.",
                          .fallback = "1000",
                          .min = 1,
                          .max = 1'000'000});
  verb.options.push_back(seconds_option("20"));
  return {.verb = std::move(verb), .run = run, .starts_tracker = true};
}

}  // namespace carillon::bench
