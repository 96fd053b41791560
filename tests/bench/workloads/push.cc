// How late executors of xxl-job are called.
#include <utility>

#include "tests/bench/executor.h"
#include "tests/bench/workloads/all.h"
#include "tests/bench/workloads/measures.h"

namespace carillon::bench {
namespace {

Result<Figures> measure(Round& round, const std::vector<std::string>& groups) {
  const std::int64_t burst = round.flags.number("burst");
  if (burst > 0) return measure_burst(round, {.groups = groups, .jobs = burst, .push = true});
  return measure_fires(round, {.groups = groups,
                               .fires = round.flags.number("fires"),
                               .seconds = round.flags.number("seconds"),
                               .spread = round.flags.is_on("spread"),
                               .push = true});
}

Result<Figures> run(Round& round) {
  CARILLON_TRY(round.cluster.start_tracker({"--xxl-listen", "127.0.0.1:0"}));
  const auto executor =
      CARILLON_TRY(Executor::start(round.cluster.xxl_url(), round.group,
                                   static_cast<int>(round.flags.number("addresses")), round.clock));
  Figures figures = CARILLON_TRY(measure(round, {round.group}));
  const auto calls = CARILLON_TRY(executor->stop());
  figures.push_back({"calls that came", "", static_cast<double>(calls.size())});
  return figures;
}

}  // namespace

Workload push_workload() {
  Verb verb{.name = "push",
            .summary = "Lateness of calls to executors of xxl-job",
            .description =
                "As cron and burst, but the jobs are pushed to an executor of xxl-job in this "
                "program, which reports a success at once. Lateness is from a fire's time to its "
                "call. Fails if a fire is missing or there twice, or was called for twice."};
  verb.options = fire_options();
  verb.options.push_back({.name = "addresses",
                          .kind = OptionKind::kNumber,
                          .placeholder = "N",
                          .help = "Of the executor, called in turn by each job.",
                          .fallback = "1",
                          .min = 1,
                          .max = 10'000});
  verb.options.push_back({.name = "burst",
                          .kind = OptionKind::kNumber,
                          .placeholder = "N",
                          .help = "Instead of fires: so many jobs that are due at one instant.",
                          .fallback = "0",
                          .max = 10'000'000});
  return {.verb = std::move(verb), .run = run, .starts_tracker = true};
}

}  // namespace carillon::bench
