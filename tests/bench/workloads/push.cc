// How late executors of xxl-job are called.
#include <algorithm>
#include <map>
#include <utility>

#include "shared/base/time_text.h"
#include "tests/bench/executor.h"
#include "tests/bench/history.h"
#include "tests/bench/left_check.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"
#include "tests/bench/workloads/measures.h"

namespace carillon::bench {
namespace {

using Times = std::map<std::int64_t, std::vector<WallTime>>;  // by the number of a schedule

Result<Times> read_fires(JobClient& client, const std::string& group) {
  Times fires;
  Status failed;
  CARILLON_TRY(read_history(client, {group}, [&](const HistoryRow& row) {
    const auto at = parse_time(row.trigger_time);
    if (!at.ok()) {
      failed = at.error();
      return;
    }
    const bool is_fire = row.task_id.starts_with(kSchedulePrefix);
    fires[is_fire ? std::stoll(row.task_id.substr(kSchedulePrefix.size())) : 0].push_back(
        at.value());
  }));
  CARILLON_TRY(failed);
  return fires;
}

std::size_t count_before(const std::vector<WallTime>& sorted, WallTime time) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), time) -
                                  sorted.begin());
}

// Both sorted. Each fire of the history has had a call; a call after `until` may be for a fire that
// had not ended when the history was read.
Status check_calls(std::int64_t schedule, const std::vector<WallTime>& fires,
                   const std::vector<WallTime>& calls, WallTime until) {
  const std::size_t fires_counted = count_before(fires, until);
  const std::size_t calls_counted = count_before(calls, until - kClocksApart);
  if (calls.size() < fires.size() || calls_counted > fires_counted) {
    return Error{ErrorCode::kCorrupt,
                 "schedule " + std::to_string(schedule) + ": " + std::to_string(calls.size()) +
                     " calls came for " + std::to_string(fires.size()) + " fires, " +
                     std::to_string(calls_counted) + " for " + std::to_string(fires_counted) +
                     " until the end of what was measured"};
  }
  for (std::size_t i = 0; i < fires.size(); ++i) {
    if (calls[i] >= fires[i] - kClocksApart) continue;
    return Error{ErrorCode::kCorrupt, "schedule " + std::to_string(schedule) +
                                          " was called before its time, " + format_time(fires[i])};
  }
  return {};
}

// From each fire's time to the arrival of its call: the first call of a schedule is for its first
// fire, and so on.
Result<std::vector<double>> arrivals(Times fires, Times came, WallTime from, WallTime until) {
  for (const auto& [schedule, calls] : came) fires.try_emplace(schedule);
  std::vector<double> lateness_ms;
  for (auto& [schedule, times] : fires) {
    std::vector<WallTime>& calls = came[schedule];
    std::sort(times.begin(), times.end());
    std::sort(calls.begin(), calls.end());
    CARILLON_TRY(check_calls(schedule, times, calls, until));
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (times[i] >= from && times[i] < until)
        lateness_ms.push_back(milliseconds(calls[i] - times[i]));
    }
  }
  if (!lateness_ms.empty()) return lateness_ms;
  return Error{ErrorCode::kCorrupt, "no call came for a fire that was measured"};
}

Result<Figures> run(Round& round) {
  CARILLON_TRY(round.cluster.start_tracker({"--xxl-listen", "127.0.0.1:0"}));
  const auto executor =
      CARILLON_TRY(Executor::start(round.cluster.xxl_url(), round.group,
                                   static_cast<int>(round.flags.number("addresses")), round.clock));
  const std::int64_t burst = round.flags.number("burst");
  FiresSeen seen{.until = WallTime::max()};
  if (burst > 0) {
    seen.figures =
        CARILLON_TRY(measure_burst(round, {.groups = {round.group}, .jobs = burst, .push = true}));
  } else {
    seen = CARILLON_TRY(measure_fires(round, {.groups = {round.group},
                                              .fires = round.flags.number("fires"),
                                              .seconds = round.flags.number("seconds"),
                                              .spread = round.flags.is_on("spread"),
                                              .push = true}));
  }
  const auto client = CARILLON_TRY(round.cluster.client());
  Times fires = CARILLON_TRY(read_fires(*client, round.group));
  const auto calls = CARILLON_TRY(executor->stop());
  Times came;
  for (const ExecutorCall& call : calls) came[burst > 0 ? 0 : call.job].push_back(call.came);
  const auto lateness_ms =
      CARILLON_TRY(arrivals(std::move(fires), std::move(came), seen.from, seen.until));
  if (burst > 0) CARILLON_TRY(check_nothing_left(round));
  add_percentiles(seen.figures, "lateness", lateness_ms);
  seen.figures.push_back({"calls that came", "", static_cast<double>(calls.size())});
  return std::move(seen.figures);
}

}  // namespace

Workload push_workload() {
  Verb verb{.name = "push",
            .summary = "Lateness of calls to executors of xxl-job",
            .description =
                "As cron and burst, but the jobs are pushed to an executor of xxl-job in this "
                "program, which reports a success at once. Lateness is from a fire's time to the "
                "arrival of its call; in the history it is until the job tracker sent it. Fails if "
                "a fire is missing or there twice, or has no call or two."};
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
