// How late the fires of many schedules are called at an xxl-job executor, each of them once a
// second.
#include "tests/bench/minimal_executor.h"
#include "tests/bench/workloads/all.h"
#include "tests/bench/workloads/measures.h"

namespace carillon::bench {
namespace {

Result<Figures> run(Round& round) {
  const auto executor = CARILLON_TRY(MinimalExecutor::start(round.cluster.admin(), round.group));
  return measure_fires(round, {.groups = {round.group},
                               .fires = round.flags.number("fires"),
                               .seconds = round.flags.number("seconds"),
                               .spread = round.flags.is_on("spread"),
                               .is_pushed = true});
}

}  // namespace

Workload push_workload() {
  Verb verb{.name = "push",
            .summary = "Lateness of schedules that are pushed every second",
            .description =
                "Submits schedules for an xxl-job executor in this process, which tells each "
                "result at once, lets them fire for a while and reads the lateness of every fire "
                "from the history: from its time to its call. Fails if a fire is missing or there "
                "twice."};
  verb.options.push_back({.name = "fires",
                          .kind = OptionKind::kNumber,
                          .placeholder = "N",
                          .help = "Schedules, and so fires a second.",
                          .fallback = "1000",
                          .min = 1,
                          .max = 1'000'000});
  verb.options.push_back(seconds_option("How long the fires are watched.", "60"));
  verb.options.push_back({.name = "spread",
                          .kind = OptionKind::kSwitch,
                          .help = "Fires come evenly over the second, not all at its start."});
  return {.verb = std::move(verb), .run = run, .has_executors = true};
}

}  // namespace carillon::bench
