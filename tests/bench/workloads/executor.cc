// How late another scheduler calls the executor that `push` has.
#include "tests/bench/executor.h"

#include <algorithm>
#include <utility>

#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"

namespace carillon::bench {
namespace {

constexpr std::chrono::seconds kSecond{1};

Result<Figures> run(Round& round) {
  const Configuration& flags = round.flags;
  const auto executor =
      CARILLON_TRY(Executor::start(flags.text("ADMIN"), flags.text("APP"), 1, round.clock));
  const WallTime from =
      std::chrono::ceil<std::chrono::seconds>(round.clock.wall_now() + flags.duration("settle"));
  const WallTime until = from + kSecond * flags.number("seconds");
  pause(until + flags.duration("patience") - round.clock.wall_now());
  std::vector<double> lateness_ms;
  for (const ExecutorCall& call : CARILLON_TRY(executor->stop())) {
    if (call.logged >= from && call.logged < until)
      lateness_ms.push_back(milliseconds(call.came - call.logged));
  }
  const auto expected = static_cast<double>(flags.number("fires") * flags.number("seconds"));
  const auto came = static_cast<double>(lateness_ms.size());
  Figures figures{{"fires", "1/s", came / static_cast<double>(flags.number("seconds"))},
                  {"missed", "", expected - came}};
  add_percentiles(figures, "lateness", lateness_ms);
  return figures;
}

}  // namespace

Workload executor_workload() {
  Verb verb{.name = "executor",
            .summary = "Lateness of another scheduler's calls to executors of xxl-job",
            .description =
                "Registers the executor of push at a scheduler that runs already and has jobs of "
                "the group that fire every second, and counts what comes. Lateness is from a "
                "call's logDateTime, which has to be the fire's time, to its arrival. "
                "tests/bench/peers/compare_push.py drives it."};
  verb.positionals = {{.name = "ADMIN", .help = "Where to register: http://HOST:PORT/PATH."},
                      {.name = "APP", .help = "The app name to register."}};
  verb.options = {{.name = "fires",
                   .kind = OptionKind::kNumber,
                   .placeholder = "N",
                   .help = "Fires a second that are to come.",
                   .fallback = "1000",
                   .min = 1,
                   .max = 1'000'000},
                  seconds_option("How long the fires are watched.", "30"),
                  {.name = "settle",
                   .kind = OptionKind::kDuration,
                   .placeholder = "TIME",
                   .help = "Calls so long after the start do not count.",
                   .fallback = "8s"},
                  {.name = "patience",
                   .kind = OptionKind::kDuration,
                   .placeholder = "TIME",
                   .help = "How late a call may come.",
                   .fallback = "6s"}};
  return {.verb = std::move(verb), .run = run, .starts_tracker = true, .has_store = false};
}

}  // namespace carillon::bench
