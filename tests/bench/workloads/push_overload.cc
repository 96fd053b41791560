// What happens when more fires come than executors of xxl-job can be called for: each must have its
// run in the end, and the rate must stay where it was.
#include <cmath>
#include <utility>

#include "shared/base/time_text.h"
#include "tests/bench/end_check.h"
#include "tests/bench/executor.h"
#include "tests/bench/history.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"

namespace carillon::bench {
namespace {

constexpr const char* kEnded = "attempts_ended_total";
constexpr const char* kOperations = "operations_committed_total";
constexpr Duration kSecond = std::chrono::seconds{1};
constexpr Duration kPatience = std::chrono::seconds{60};

// Schedules that fire at the start of each second, for so many seconds.
struct Load {
  std::string group{};
  std::int64_t fires = 0;
  std::int64_t seconds = 0;
  Duration lead{};

  std::int64_t all() const { return fires * seconds; }
};

struct LoadSeen {
  double ended_per_second = 0;  // while they came
  Duration rest{};              // from the last fire until all had ended
  std::vector<double> lateness_ms{};
  Figures cost{};
};

std::vector<JobSpec> make_schedules(const Load& load, WallTime first) {
  std::vector<JobSpec> specs;
  for (std::int64_t i = 0; i < load.fires; ++i) {
    JobSpec& job = specs.emplace_back(pushed_job({load.group}, i));
    job.task_id = std::to_string(i);
    job.schedule = {
        .kind = ScheduleKind::kEvery, .interval = kSecond, .count = load.seconds, .first = first};
  }
  return specs;
}

// Whether each fire has had one run. Gives how late each was called.
Result<std::vector<double>> check_fires(JobClient& client, const Load& load, WallTime first) {
  std::vector<End> ends;
  std::vector<double> lateness_ms;
  Status failed;
  CARILLON_TRY(read_history(client, {load.group}, [&](const HistoryRow& row) {
    const auto at = parse_time(row.trigger_time);
    if (!at.ok()) {
      failed = at.error();
      return;
    }
    const std::int64_t second = (at.value() - first) / kSecond;
    ends.push_back({.key = second * load.fires + std::stoll(row.task_id), .state = row.state});
    lateness_ms.push_back(row.lateness_ms);
  }));
  CARILLON_TRY(failed);
  std::vector<std::int64_t> expected;
  for (std::int64_t key = 0; key < load.all(); ++key) expected.push_back(key);
  CARILLON_TRY(
      check_each_succeeded_once(std::move(expected), std::move(ends), [&load](std::int64_t key) {
        return "schedule " + std::to_string(key % load.fires) + " in second " +
               std::to_string(key / load.fires);
      }));
  return lateness_ms;
}

Result<LoadSeen> put_on(Round& round, const Load& load) {
  const auto executor =
      CARILLON_TRY(Executor::start(round.cluster.xxl_url(), load.group,
                                   static_cast<int>(round.flags.number("addresses")), round.clock));
  const auto client = CARILLON_TRY(round.cluster.client());
  const std::int64_t ended_before = CARILLON_TRY(read_counter(*client, kEnded));
  const WallTime first =
      std::chrono::ceil<std::chrono::seconds>(round.clock.wall_now() + load.lead);
  CARILLON_TRY(submit_all(*client, make_schedules(load, first)));
  if (round.clock.wall_now() >= first) {
    return Error{ErrorCode::kInvalidArgument,
                 "the first fires came before all schedules were submitted (give a longer --lead)"};
  }
  pause(first - round.clock.wall_now());
  const std::int64_t operations_before = CARILLON_TRY(read_counter(*client, kOperations));
  Meter meter(round);
  pause(first + kSecond * load.seconds - round.clock.wall_now());
  const std::int64_t ended = CARILLON_TRY(read_counter(*client, kEnded)) - ended_before;
  meter.stop();
  const std::int64_t operations =
      CARILLON_TRY(read_counter(*client, kOperations)) - operations_before;
  const SteadyTime last = round.clock.steady_now();
  CARILLON_TRY(await_counter(*client, kEnded, ended_before + load.all(), kPatience));
  LoadSeen seen{.ended_per_second = static_cast<double>(ended) / seconds(meter.elapsed()),
                .rest = std::chrono::duration_cast<Duration>(round.clock.steady_now() - last)};
  seen.lateness_ms = CARILLON_TRY(check_fires(*client, load, first));
  CARILLON_TRY(executor->stop());
  seen.cost.push_back({"stored operations of a run", "",
                       static_cast<double>(operations) / static_cast<double>(ended)});
  meter.add_to(seen.cost, static_cast<std::size_t>(ended));
  return seen;
}

// The rate must stay where it was, or nearly so.
Status check_rate(double rate, double before, std::int64_t least_percent) {
  const double percent = 100 * rate / before;
  if (percent >= static_cast<double>(least_percent)) return {};
  const auto whole = [](double value) { return std::to_string(std::llround(value)); };
  return Error{ErrorCode::kUnavailable, "under overload the rate fell to " + whole(percent) +
                                            " % of what it was with fewer fires (" + whole(rate) +
                                            " of " + whole(before) + " runs/s), and must stay at " +
                                            std::to_string(least_percent) + " % (--at-least)"};
}

// A machine that keeps up shows nothing of what becomes of one that does not.
Status check_overloaded(const LoadSeen& seen) {
  if (seen.rest >= std::chrono::seconds{1}) return {};
  return Error{ErrorCode::kInvalidArgument,
               "there was no overload: at " + std::to_string(std::llround(seen.ended_per_second)) +
                   " runs/s all had ended within a second of the last fire (give more --fires, or "
                   "more --times)"};
}

void add_load(Figures& figures, const std::string& prefix, const Load& load, const LoadSeen& seen) {
  figures.push_back({prefix + "fires", "1/s", static_cast<double>(load.fires)});
  figures.push_back({prefix + "ended", "1/s", seen.ended_per_second});
  figures.push_back({prefix + "until all had ended", "s", seconds(seen.rest)});
  add_percentiles(figures, prefix + "lateness", seen.lateness_ms);
  add_all(figures, prefix, seen.cost);
}

Result<Figures> run(Round& round) {
  CARILLON_TRY(round.cluster.start_tracker({"--xxl-listen", "127.0.0.1:0"}));
  const Load few{.group = round.group + "-few",
                 .fires = round.flags.number("fires"),
                 .seconds = round.flags.number("seconds"),
                 .lead = round.flags.duration("lead")};
  Load many = few;
  many.group = round.group + "-many";
  many.fires *= round.flags.number("times");
  const LoadSeen before = CARILLON_TRY(put_on(round, few));
  const LoadSeen seen = CARILLON_TRY(put_on(round, many));
  Figures figures;
  add_load(figures, "", few, before);
  add_load(figures, "overload, ", many, seen);
  figures.push_back({"overload, ended, of what it was", "%",
                     100 * seen.ended_per_second / before.ended_per_second});
  CARILLON_TRY(
      check_rate(seen.ended_per_second, before.ended_per_second, round.flags.number("at-least")));
  CARILLON_TRY(check_overloaded(seen));
  return figures;
}

}  // namespace

Workload push_overload_workload() {
  Verb verb{
      .name = "push-overload",
      .summary = "More fires than executors of xxl-job can be called for",
      .description =
          "As push, with schedules that fire each second and end after --seconds: first "
          "--fires of them, about as many as can be kept up with, then a multiple. What was "
          "not run when the last have fired is run then. Fails if a fire has no run or two, "
          "if fewer are run a second under overload than before, or if there was no overload."};
  verb.options = {{.name = "fires",
                   .kind = OptionKind::kNumber,
                   .placeholder = "N",
                   .help = "Schedules, and so fires a second, before the overload.",
                   .fallback = "15000",
                   .min = 1,
                   .max = 1'000'000},
                  {.name = "times",
                   .kind = OptionKind::kNumber,
                   .placeholder = "N",
                   .help = "How many times as many under overload.",
                   .fallback = "2",
                   .min = 1,
                   .max = 100},
                  seconds_option("How long fires come, each time.", "20"),
                  {.name = "lead",
                   .kind = OptionKind::kDuration,
                   .placeholder = "TIME",
                   .help = "From the first submission to the first fires.",
                   .fallback = "15s"},
                  {.name = "addresses",
                   .kind = OptionKind::kNumber,
                   .placeholder = "N",
                   .help = "Of the executor, called in turn by each job.",
                   .fallback = "1",
                   .min = 1,
                   .max = 10'000},
                  {.name = "at-least",
                   .kind = OptionKind::kNumber,
                   .placeholder = "PERCENT",
                   .help = "How much of the rate before must be kept.",
                   .fallback = "80",
                   .max = 1000}};
  return {.verb = std::move(verb), .run = run, .starts_tracker = true, .ends_all = true};
}

}  // namespace carillon::bench
