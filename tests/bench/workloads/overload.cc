// What happens when more comes than can be run: callers must be told to slow down, nothing may be
// lost, and the rate must stay where it was.
#include <utility>

#include "tests/bench/load_check.h"
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
  const FlowPlan plan{.feed = {.groups = groups_of(round),
                               .rate = times * maximum,
                               .clients = static_cast<int>(round.flags.number("clients"))},
                      .seconds = time};
  const FlowSeen seen = CARILLON_TRY(run_flow(round, plan));
  const Load load{.maximum = maximum,
                  .ended_per_second = seen.ended_per_second,
                  .turned_away = seen.fed.turned_away + seen.fed.refused,
                  .slowed_down = seen.slowed_down,
                  .left_over = seen.left_over,
                  .least_percent = round.flags.number("at-least"),
                  .others_percent = seen.others_percent};
  CARILLON_TRY(check_rate(load));
  CARILLON_TRY(check_overloaded(load));
  const auto of_offered = [&seen](std::int64_t jobs) {
    return 100 * static_cast<double>(jobs) / static_cast<double>(seen.fed.offered);
  };
  Figures figures{
      {"flow, maximum", "jobs/s", maximum},
      {"offered", "jobs/s",
       static_cast<double>(seen.fed.offered) / (static_cast<double>(time) + seconds(plan.warm_up))},
      {"accepted", "jobs/s", seen.accepted_per_second},
      {"ended", "jobs/s", seen.ended_per_second},
      {"ended, of the maximum", "%", 100 * seen.ended_per_second / maximum},
      {"turned away by the client library", "%", of_offered(seen.fed.turned_away)},
      {"told to slow down by the job tracker", "requests", static_cast<double>(seen.slowed_down)},
      {"refused by the job tracker", "%", of_offered(seen.fed.refused)},
      {"left over when the last was submitted", "jobs", static_cast<double>(seen.left_over)},
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
                "answered. A job that the client library turns away, which holds 200 000 jobs and "
                "takes no more while one has waited for 10 s, is not submitted again. When the job "
                "tracker says \"slow down\", which takes about nine clients or more, the library "
                "asks it again; a job that is refused to the end is not submitted again either. "
                "Fails if a job that was accepted is lost or ends twice, if it is not known of one "
                "whether it was taken, if the rate falls, or if there was no overload."};
  verb.options = worker_options();
  verb.options.push_back(
      seconds_option("How long the maximum is measured, and then the overload.", "30"));
  verb.options.push_back({.name = "times",
                          .kind = OptionKind::kNumber,
                          .placeholder = "N",
                          .help = "How many times the maximum.",
                          .fallback = "2",
                          .min = 1,
                          .max = 100});
  verb.options.push_back({.name = "clients",
                          .kind = OptionKind::kNumber,
                          .placeholder = "N",
                          .help = "Who submit, in turn.",
                          .fallback = "1",
                          .min = 1,
                          .max = 1000});
  verb.options.push_back({.name = "at-least",
                          .kind = OptionKind::kNumber,
                          .placeholder = "PERCENT",
                          .help = "How much of the maximum the rate must keep.",
                          .fallback = "90",
                          .max = 1000});
  verb.options.push_back({.name = "maximum",
                          .kind = OptionKind::kNumber,
                          .placeholder = "JOBS/S",
                          .help = "What is taken for the maximum; 0: it is measured.",
                          .fallback = "0"});
  return {.verb = std::move(verb), .run = run, .ends_all = true};
}

}  // namespace carillon::bench
