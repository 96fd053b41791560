// How fast cron expressions are compiled and their next fires found; no job tracker, no store.
#include <string>
#include <utility>

#include "shared/base/assert.h"
#include "shared/job/cron.h"
#include "tests/bench/workloads/all.h"

namespace carillon::bench {
namespace {

struct Expression {
  const char* name = "";
  const char* text = "";
};

// First what every library can do: compare_cron.py has the same five. Then what few can.
constexpr Expression kExpressions[] = {
    {"daily", "0 2 * * *"},
    {"every five minutes", "*/5 * * * *"},
    {"office hours", "0 9-17 * * 1-5"},
    {"once a year", "30 2 1 1 *"},
    {"leap days", "0 0 29 2 *"},
    {"every second", "* * * * * ?"},
    {"last weekday of a month", "0 0 3 LW * ?"},
    {"last Friday and first Monday", "0 0 6 ? * 6L,2#1"},
};
constexpr const char* kZone = "Europe/Berlin";
constexpr WallTime kStart = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};
constexpr int kCallsAtOnce = 1000;

// The time of one call, in ns: it is called for about `time`.
template <class Call>
double measure(const Clock& clock, Duration time, Call call) {
  const SteadyTime begin = clock.steady_now();
  std::int64_t calls = 0;
  while (clock.steady_now() < begin + time) {
    for (int i = 0; i < kCallsAtOnce; ++i) call();
    calls += kCallsAtOnce;
  }
  const auto took =
      std::chrono::duration_cast<std::chrono::nanoseconds>(clock.steady_now() - begin);
  return static_cast<double>(took.count()) / static_cast<double>(calls);
}

Result<Figures> run(Round& round) {
  const Zone zone = CARILLON_TRY(Zone::load(kZone));
  const Duration time = round.flags.duration("time");
  Figures figures;
  for (const auto& [name, text] : kExpressions) {
    const Cron cron = CARILLON_TRY(Cron::parse(text));
    std::int64_t parsed = 0;
    const double compile_ns = measure(round.clock, time, [&parsed, expression = text] {
      parsed += Cron::parse(expression).ok();
    });
    // From fire to fire, as a scheduler walks, and from the start again when the years run out.
    ZoneSpan span;
    WallTime last = kStart;
    const double next_ns = measure(round.clock, time, [&] {
      last = cron.next(last, zone, DstRule::kAuto, span).value_or(kStart);
    });
    CARILLON_ASSERT(parsed > 0 && last >= kStart, "the calls are not optimized away");
    figures.push_back({std::string{name} + ", compile", "ns", compile_ns});
    figures.push_back({std::string{name} + ", next fire", "ns", next_ns});
  }
  return figures;
}

}  // namespace

Workload cron_parse_workload() {
  Verb verb{.name = "cron-parse",
            .summary = "Cron expressions compiled, and next fires found",
            .description =
                "Takes the time of one call for several expressions in the zone Europe/Berlin. "
                "tests/bench/peers/compare_cron.py has the same for other libraries."};
  verb.options = {{.name = "time",
                   .kind = OptionKind::kDuration,
                   .placeholder = "TIME",
                   .help = "How long each call is repeated.",
                   .fallback = "200ms"}};
  return {.verb = std::move(verb),
          .run = run,
          .starts_tracker = true,
          .has_store = false,
          .warm_up = 1};
}

}  // namespace carillon::bench
