#include "tests/bench/workloads/run_flow.h"

#include <utility>

#include "tests/bench/history.h"
#include "tests/bench/meter.h"
#include "tests/bench/prober.h"
#include "tests/bench/statistics.h"

namespace carillon::bench {
namespace {

constexpr const char* kEnded = "attempts_ended_total";
constexpr const char* kSlowedDown = "requests_slowed_down_total";
constexpr const char* kCommits = "commits_total";
constexpr const char* kOperations = "operations_committed_total";
constexpr Duration kPatience = std::chrono::seconds{60};
constexpr Duration kBetweenProbes = std::chrono::milliseconds{20};
constexpr int kProberThreads = 2;

// Until `end`; single jobs one after the other if there is a prober.
Status probe_until(SteadyTime end, const Round& round, Prober* prober,
                   std::vector<Prober::Sample>& samples) {
  while (round.clock.steady_now() < end) {
    if (prober != nullptr) samples.push_back(CARILLON_TRY(prober->take()));
    const auto left = std::chrono::duration_cast<Duration>(end - round.clock.steady_now());
    pause(prober == nullptr ? left : std::min(left, kBetweenProbes));
  }
  return {};
}

}  // namespace

Result<FlowSeen> run_flow(Round& round, const FlowPlan& plan) {
  const auto client = CARILLON_TRY(round.cluster.client());
  CARILLON_TRY(start_workers(round, plan.feed.groups));
  CARILLON_TRY(round.cluster.await_workers());
  std::unique_ptr<Prober> prober;
  if (!plan.probe_group.empty()) {
    prober = CARILLON_TRY(Prober::open(round, plan.probe_group, kProberThreads));
  }
  const std::int64_t ended_before = CARILLON_TRY(read_counter(*client, kEnded));
  const std::int64_t slowed_down_before = CARILLON_TRY(read_counter(*client, kSlowedDown));
  const auto feeder = CARILLON_TRY(Feeder::start(round, plan.feed));
  std::vector<Prober::Sample> samples;
  CARILLON_TRY(probe_until(round.clock.steady_now() + plan.warm_up, round, prober.get(), samples));
  samples.clear();

  const std::int64_t accepted_from = feeder->accepted_so_far();
  const std::int64_t ended_from = CARILLON_TRY(read_counter(*client, kEnded));
  const std::int64_t commits_from = CARILLON_TRY(read_counter(*client, kCommits));
  const std::int64_t operations_from = CARILLON_TRY(read_counter(*client, kOperations));
  Meter meter(round);
  CARILLON_TRY(probe_until(round.clock.steady_now() + std::chrono::seconds{plan.seconds}, round,
                           prober.get(), samples));
  meter.stop();
  const std::int64_t ended_until = CARILLON_TRY(read_counter(*client, kEnded));
  const std::int64_t ended = ended_until - ended_from;
  const std::int64_t commits = CARILLON_TRY(read_counter(*client, kCommits)) - commits_from;
  const std::int64_t operations =
      CARILLON_TRY(read_counter(*client, kOperations)) - operations_from;
  const std::int64_t accepted = feeder->accepted_so_far() - accepted_from;

  FlowSeen seen;
  const SteadyTime stopped = round.clock.steady_now();
  seen.fed = CARILLON_TRY(feeder->stop());
  const std::size_t probes = prober ? prober->jobs() : 0;
  const std::int64_t ended_after =
      ended_before + static_cast<std::int64_t>(seen.fed.accepted.size() + probes);
  CARILLON_TRY(await_counter(*client, kEnded, ended_after, kPatience));
  seen.recovered = std::chrono::duration_cast<Duration>(round.clock.steady_now() - stopped);
  if (prober) CARILLON_TRY(prober->check(*client));
  CARILLON_TRY(round.cluster.stop_workers());
  seen.lateness_ms = CARILLON_TRY(check_jobs(*client, plan.feed.groups, seen.fed.accepted));
  seen.left_over = ended_after - ended_until;
  seen.slowed_down = CARILLON_TRY(read_counter(*client, kSlowedDown)) - slowed_down_before;
  seen.ended_per_second = static_cast<double>(ended) / seconds(meter.elapsed());
  seen.accepted_per_second = static_cast<double>(accepted) / seconds(meter.elapsed());
  if (prober) add_samples(seen.probes, "", samples);
  seen.cost.push_back({"operations of a commit", "",
                       static_cast<double>(operations) / static_cast<double>(commits)});
  meter.add_to(seen.cost, static_cast<std::size_t>(ended));
  seen.others_percent = meter.others_percent();
  return seen;
}

}  // namespace carillon::bench
