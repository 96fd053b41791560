// How late the fires of many schedules start, each of them once a second.
#include <algorithm>
#include <utility>

#include "shared/base/time_text.h"
#include "tests/bench/end_check.h"
#include "tests/bench/history.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"
#include "tests/bench/workloads/measures.h"

namespace carillon::bench {
namespace {

constexpr Duration kSecond = std::chrono::seconds{1};
// From the submission to the first fire that counts.
constexpr Duration kSettle = std::chrono::seconds{3};
constexpr Duration kPatience = std::chrono::seconds{60};

struct Window {
  WallTime from{};
  WallTime until{};
};

// A schedule and one of the seconds; every schedule fires once in each.
std::int64_t key_of(std::int64_t schedule, std::int64_t second) { return schedule << 32 | second; }
WallTime next_second(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time) + kSecond;
}
std::string name_of(std::int64_t key) {
  return std::string{kSchedulePrefix} + std::to_string(key >> 32) + " in second " +
         std::to_string(key & 0xffffffff);
}

// Of all fires, those that have ended.
struct Seen {
  std::vector<End> ends{};
  std::vector<double> lateness_ms{};  // of those in the window
};

// Of the fires of a schedule, which are a second apart, the one in second 0: that begins with
// `base`, and is the first in which anything may fire.
WallTime first_of(const FirePlan& plan, std::int64_t schedule, WallTime base) {
  return plan.spread ? base + kSecond * schedule / plan.fires : base;
}

Result<Seen> read_fires(JobClient& client, const FirePlan& plan, WallTime base,
                        const Window& window) {
  Seen seen;
  const auto take = [&](const HistoryRow& row) -> Status {
    const WallTime at = CARILLON_TRY(parse_time(row.trigger_time));
    const std::int64_t schedule = std::stoll(row.task_id.substr(kSchedulePrefix.size()));
    const WallTime first = first_of(plan, schedule, base);
    // A row's time is cut to milliseconds.
    const Duration since = at - std::chrono::floor<std::chrono::milliseconds>(first);
    if (since % kSecond != Duration{}) {
      return Error{ErrorCode::kCorrupt, "schedule " + row.task_id + " fired for " +
                                            row.trigger_time + ", which is none of its times"};
    }
    CARILLON_TRY(check_not_early(row));
    seen.ends.push_back({.key = key_of(schedule, since / kSecond), .state = row.state});
    if (at >= window.from && at < window.until) seen.lateness_ms.push_back(row.lateness_ms);
    return {};
  };
  Status failed;
  CARILLON_TRY(read_history(client, plan.groups, [&](const HistoryRow& row) {
    if (failed.ok()) failed = take(row);
  }));
  CARILLON_TRY(failed);
  return seen;
}

std::vector<JobSpec> make_schedules(const FirePlan& plan, WallTime base) {
  std::vector<JobSpec> specs;
  for (std::int64_t i = 0; i < plan.fires; ++i) {
    JobSpec& job =
        specs.emplace_back(plan.push ? pushed_job(plan.groups, i) : noop_job(plan.groups, i));
    job.task_id = std::string{kSchedulePrefix} + std::to_string(i);
    if (plan.spread) {
      job.schedule.kind = ScheduleKind::kEvery;
      job.schedule.interval = kSecond;
      job.schedule.first = first_of(plan, i, base);
    } else {
      job.schedule.kind = ScheduleKind::kCron;
      job.schedule.cron = "* * * * * ?";
    }
  }
  return specs;
}

// Each schedule's fires from its first one to `until`, and what fired after that. By `accepted` all
// fire; some may have begun before.
std::vector<std::int64_t> expected_of(const FirePlan& plan, const Seen& seen, std::int64_t accepted,
                                      std::int64_t until) {
  std::vector<std::int64_t> firsts(static_cast<std::size_t>(plan.fires), accepted);
  std::vector<std::int64_t> expected;
  for (const End& end : seen.ends) {
    const auto schedule = static_cast<std::size_t>(end.key >> 32);
    if (schedule >= firsts.size()) continue;
    const std::int64_t second = end.key & 0xffffffff;
    firsts[schedule] = std::min(firsts[schedule], second);
    if (second >= until) expected.push_back(end.key);
  }
  std::sort(expected.begin(), expected.end());
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  for (std::int64_t i = 0; i < plan.fires; ++i) {
    for (std::int64_t second = firsts[static_cast<std::size_t>(i)]; second < until; ++second) {
      expected.push_back(key_of(i, second));
    }
  }
  return expected;
}

Result<Figures> run(Round& round) {
  FiresSeen seen = CARILLON_TRY(measure_fires(round, {.groups = groups_of(round),
                                                      .fires = round.flags.number("fires"),
                                                      .seconds = round.flags.number("seconds"),
                                                      .spread = round.flags.is_on("spread")}));
  return std::move(seen.figures);
}

}  // namespace

Result<FiresSeen> measure_fires(Round& round, const FirePlan& plan) {
  const auto client = CARILLON_TRY(round.cluster.client());
  if (!plan.push) {
    CARILLON_TRY(start_workers(round, plan.groups));
    CARILLON_TRY(round.cluster.await_workers());
  }
  // Early in a second, so that all are accepted in it, and it is known which fire is the first.
  pause(next_second(round.clock.wall_now()) - round.clock.wall_now());
  const WallTime base = next_second(round.clock.wall_now());
  CARILLON_TRY(submit_all(*client, make_schedules(plan, base)));
  const WallTime accepted = std::max(base, next_second(round.clock.wall_now()));
  Window window{.from = next_second(round.clock.wall_now() + kSettle)};
  window.until = window.from + kSecond * plan.seconds;
  const auto all_in_window = static_cast<std::size_t>(plan.fires * plan.seconds);
  pause(window.from - round.clock.wall_now());
  Meter meter(round);
  pause(window.until - round.clock.wall_now());
  meter.stop();

  const SteadyTime give_up = round.clock.steady_now() + kPatience;
  Seen seen;
  do {
    pause(kSecond);
    seen = CARILLON_TRY(read_fires(*client, plan, base, window));
  } while (seen.lateness_ms.size() < all_in_window && round.clock.steady_now() < give_up);
  std::vector<std::int64_t> expected =
      expected_of(plan, seen, (accepted - base) / kSecond, (window.until - base) / kSecond);
  CARILLON_TRY(check_each_succeeded_once(std::move(expected), std::move(seen.ends), name_of));
  Figures figures{{"fires", "1/s", static_cast<double>(plan.fires)}};
  add_percentiles(figures, plan.push ? "lateness in the history" : "lateness", seen.lateness_ms);
  if (!plan.push) add_histogram(figures, "late by", seen.lateness_ms);
  meter.add_to(figures, all_in_window);
  return FiresSeen{.figures = std::move(figures), .from = window.from, .until = window.until};
}

std::vector<Option> fire_options() {
  return {{.name = "fires",
           .kind = OptionKind::kNumber,
           .placeholder = "N",
           .help = "Schedules, and so fires a second.",
           .fallback = "1000",
           .min = 1,
           .max = 1'000'000},
          seconds_option("How long the fires are watched.", "60"),
          {.name = "spread",
           .kind = OptionKind::kSwitch,
           .help = "Fires come evenly over the second, not all at its start."}};
}

Workload cron_workload() {
  Verb verb{.name = "cron",
            .summary = "Lateness of schedules that fire every second",
            .description =
                "Submits schedules, lets them fire for a while and reads the lateness "
                "of every fire from the history: from its time to its start. Fails if a fire is "
                "missing or there twice, or was at no time of its schedule or started early, from "
                "each schedule's first one on, also before "
                "and after the time that is measured."};
  verb.options = fire_options();
  for (const Option& option : worker_options()) verb.options.push_back(option);
  return {.verb = std::move(verb), .run = run};
}

}  // namespace carillon::bench
