// How late the fires of many schedules start, each of them once a second.
#include <utility>

#include "shared/base/time_text.h"
#include "tests/bench/end_check.h"
#include "tests/bench/history.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"

namespace carillon::bench {
namespace {

constexpr Duration kSecond = std::chrono::seconds{1};
// From the submission to the first fire that counts.
constexpr Duration kSettle = std::chrono::seconds{3};
constexpr Duration kPatience = std::chrono::seconds{15};

std::string key_of(const std::string& task_id, const std::string& time) {
  return task_id + " at " + time;
}

struct Window {
  WallTime from{};
  WallTime until{};
};

// Of the fires in the window, all that have ended.
struct Seen {
  std::vector<End> ends{};
  std::vector<double> lateness_ms{};
};

Result<Seen> read_window(JobClient& client, const std::string& group, const Window& window) {
  // RFC 3339 in UTC sorts as the times do.
  const std::string from = format_time(window.from);
  const std::string until = format_time(window.until);
  Seen seen;
  for (const HistoryRow& row : CARILLON_TRY(read_history(client, group))) {
    if (row.trigger_time < from || row.trigger_time >= until) continue;
    seen.ends.push_back({.key = key_of(row.task_id, row.trigger_time), .state = row.state});
    seen.lateness_ms.push_back(row.lateness_ms);
  }
  return seen;
}

// With --spread the fires share the second evenly, otherwise all of them come at its start.
std::vector<JobSpec> make_schedules(const Round& round, std::int64_t fires, WallTime base) {
  std::vector<JobSpec> specs;
  for (std::int64_t i = 0; i < fires; ++i) {
    JobSpec& job = specs.emplace_back(noop_job(round.group, i));
    job.task_id = "bench-" + std::to_string(i);
    if (round.flags.is_on("spread")) {
      job.schedule.kind = ScheduleKind::kEvery;
      job.schedule.interval = kSecond;
      job.schedule.first = base + kSecond * i / fires;
    } else {
      job.schedule.kind = ScheduleKind::kCron;
      job.schedule.cron = "* * * * * ?";
    }
  }
  return specs;
}

std::vector<std::string> expected_in(const Window& window, const Round& round, std::int64_t fires) {
  std::vector<std::string> expected;
  for (std::int64_t i = 0; i < fires; ++i) {
    const Duration offset = round.flags.is_on("spread") ? kSecond * i / fires : Duration{};
    for (WallTime at = window.from + offset; at < window.until; at += kSecond) {
      expected.push_back(key_of("bench-" + std::to_string(i), format_time(at)));
    }
  }
  return expected;
}

Result<Figures> run(Round& round) {
  const std::int64_t fires = round.flags.number("fires");
  const auto client = CARILLON_TRY(round.cluster.client());
  CARILLON_TRY(round.cluster.start_workers(static_cast<int>(round.flags.number("workers")),
                                           static_cast<int>(round.flags.number("threads")),
                                           round.group));
  CARILLON_TRY(round.cluster.await_workers());
  const WallTime base = std::chrono::ceil<std::chrono::seconds>(round.clock.wall_now());
  CARILLON_TRY(submit_all(*client, make_schedules(round, fires, base)));
  Window window{.from = std::chrono::ceil<std::chrono::seconds>(round.clock.wall_now() + kSettle)};
  window.until = window.from + kSecond * round.flags.number("seconds");
  const std::vector<std::string> expected = expected_in(window, round, fires);
  pause(window.from - round.clock.wall_now());
  Meter meter(round);
  pause(window.until - round.clock.wall_now());
  meter.stop();

  const SteadyTime give_up = round.clock.steady_now() + kPatience;
  Seen seen;
  do {
    pause(kSecond);
    seen = CARILLON_TRY(read_window(*client, round.group, window));
  } while (seen.ends.size() < expected.size() && round.clock.steady_now() < give_up);
  CARILLON_TRY(check_each_succeeded_once(expected, seen.ends));
  Figures figures{{"fires", "1/s", static_cast<double>(fires)},
                  {"lateness p50", "ms", percentile(seen.lateness_ms, 0.5)},
                  {"lateness p99", "ms", percentile(seen.lateness_ms, 0.99)},
                  {"lateness max", "ms", percentile(seen.lateness_ms, 1)}};
  meter.add_to(figures, expected.size());
  return figures;
}

}  // namespace

Workload cron_workload() {
  Verb verb{.name = "cron",
            .summary = "Lateness of schedules that fire every second",
            .description =
                "Submits schedules, lets them fire for a while and reads the lateness "
                "of every fire from the history: from its time to its start. Fails if "
                "a fire is missing or there twice."};
  verb.options = worker_options();
  verb.options.push_back({.name = "fires",
                          .kind = OptionKind::kNumber,
                          .placeholder = "N",
                          .help = "Schedules, and so fires a second.",
                          .fallback = "200",
                          .min = 1,
                          .max = 1'000'000});
  verb.options.push_back({.name = "seconds",
                          .kind = OptionKind::kNumber,
                          .placeholder = "N",
                          .help = "How long.",
                          .fallback = "30",
                          .min = 1,
                          .max = 86'400});
  verb.options.push_back({.name = "spread",
                          .kind = OptionKind::kSwitch,
                          .help = "Fires come evenly over the second, not all at its start."});
  return {.verb = std::move(verb), .run = run};
}

}  // namespace carillon::bench
