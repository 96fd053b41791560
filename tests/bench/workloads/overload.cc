// What happens when more comes than can be run: callers must be told to slow down, nothing may be
// lost, and the rate must stay where it was.
#include <utility>

#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"
#include "tests/bench/workloads/run_flow.h"

namespace carillon::bench {
namespace {

Result<Figures> run(Round& round) {
  const std::int64_t time = round.flags.number("seconds");
  auto maximum = static_cast<double>(round.flags.number("maximum"));
  if (maximum == 0) {
    std::vector<std::string> groups;
    for (const std::string& group : groups_of(round)) groups.push_back(group + "-most");
    maximum = CARILLON_TRY(run_flow(round, {.feed = {.groups = groups}, .seconds = time}))
                  .ended_per_second;
  }
  const double times = static_cast<double>(round.flags.number("times"));
  const FlowSeen seen = CARILLON_TRY(run_flow(
      round, {.feed = {.groups = groups_of(round), .rate = times * maximum}, .seconds = time}));
  Figures figures{
      {"flow, maximum", "jobs/s", maximum},
      {"offered", "jobs/s", static_cast<double>(seen.fed.offered) / static_cast<double>(time)},
      {"accepted", "jobs/s", seen.accepted_per_second},
      {"ended", "jobs/s", seen.ended_per_second},
      {"ended, of the maximum", "%", 100 * seen.ended_per_second / maximum},
      {"told to slow down", "%",
       100 * static_cast<double>(seen.fed.slowed_down) / static_cast<double>(seen.fed.offered)},
      {"until all that was accepted had ended", "s", seconds(seen.recovered)}};
  add_percentiles(figures, "taken to start", seen.lateness_ms);
  figures.insert(figures.end(), seen.cost.begin(), seen.cost.end());
  return figures;
}

}  // namespace

Workload overload_workload() {
  Verb verb{.name = "overload",
            .summary = "Jobs submitted at twice the rate at which they can be run",
            .description =
                "Measures the maximum as flow does, then submits at a multiple of it whatever is "
                "answered. A caller that is told to slow down does not submit these jobs again. "
                "Fails if a job that was accepted is lost or ends twice."};
  verb.options = worker_options();
  verb.options.push_back(seconds_option("30"));
  verb.options.push_back({.name = "times",
                          .kind = OptionKind::kNumber,
                          .placeholder = "N",
                          .help = "How many times the maximum.",
                          .fallback = "2",
                          .min = 1,
                          .max = 100});
  verb.options.push_back({.name = "maximum",
                          .kind = OptionKind::kNumber,
                          .placeholder = "JOBS/S",
                          .help = "What is taken for the maximum; 0: it is measured.",
                          .fallback = "0"});
  return {.verb = std::move(verb), .run = run};
}

}  // namespace carillon::bench
