// What several job trackers on one MariaDB do together, and what a job costs them then.
#include <algorithm>
#include <utility>

#include "tests/bench/history.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"

namespace carillon::bench {
namespace {

constexpr const char* kEnded = "attempts_ended_total";
constexpr Duration kPatience = std::chrono::seconds{30};
// Who owns too much gives it two seconds after the last change, half of the difference at a time.
constexpr Duration kUntilEven = std::chrono::seconds{10};

using Clients = std::vector<std::unique_ptr<JobClient>>;

Result<std::vector<std::int64_t>> ended_by(const Clients& trackers) {
  std::vector<std::int64_t> ended;
  for (const auto& tracker : trackers)
    ended.push_back(CARILLON_TRY(read_counter(*tracker, kEnded)));
  return ended;
}

std::int64_t sum(const std::vector<std::int64_t>& numbers) {
  std::int64_t all = 0;
  for (const std::int64_t number : numbers) all += number;
  return all;
}

Result<Figures> run(Round& round) {
  if (round.store.kind() == "sqlite") {
    return Error{ErrorCode::kInvalidArgument,
                 "--store sqlite: several job trackers share a MariaDB (write --store mysql)"};
  }
  for (std::int64_t i = 1; i < round.flags.number("trackers"); ++i) {
    CARILLON_TRY(round.cluster.add_tracker());
  }
  Clients trackers;
  for (std::size_t i = 0; i < round.cluster.trackers(); ++i) {
    trackers.push_back(CARILLON_TRY(round.cluster.client_of(i)));
  }
  // Each group's jobs in calls of its own: one for groups of several owners is taken apart.
  const auto client = CARILLON_TRY(round.cluster.client());
  const std::vector<std::string> groups = groups_of(round);
  const auto jobs_of_group = round.flags.number("jobs") / static_cast<std::int64_t>(groups.size());
  std::vector<JobId> submitted;
  for (const std::string& group : groups) {
    std::vector<JobSpec> specs;
    for (std::int64_t i = 0; i < jobs_of_group; ++i) specs.push_back(noop_job({group}, i));
    const auto ids = CARILLON_TRY(submit_all(*client, std::move(specs)));
    submitted.insert(submitted.end(), ids.begin(), ids.end());
  }
  if (trackers.size() > 1) pause(kUntilEven);

  const std::vector<std::int64_t> before = CARILLON_TRY(ended_by(trackers));
  Meter meter(round);
  CARILLON_TRY(start_workers(round, groups));
  const auto jobs = static_cast<std::int64_t>(submitted.size());
  std::vector<std::int64_t> ended = before;
  const auto read = [&]() -> Result<std::int64_t> {
    ended = CARILLON_TRY(ended_by(trackers));
    return sum(ended);
  };
  CARILLON_TRY(await_count(kEnded, sum(before) + jobs, kPatience, read));
  meter.stop();
  CARILLON_TRY(round.cluster.await_workers());
  CARILLON_TRY(round.cluster.stop_workers());
  CARILLON_TRY(check_jobs(*client, groups, submitted));

  for (std::size_t i = 0; i < ended.size(); ++i) ended[i] -= before[i];
  Figures figures{{"drained", "jobs/s", static_cast<double>(jobs) / seconds(meter.elapsed())},
                  {"the job tracker with the most jobs had", "%",
                   100.0 * static_cast<double>(*std::max_element(ended.begin(), ended.end())) /
                       static_cast<double>(jobs)}};
  meter.add_to(figures, submitted.size());
  return figures;
}

}  // namespace

Workload scale_workload() {
  Verb verb{.name = "scale",
            .summary = "As drain, by several job trackers on one MariaDB",
            .description =
                "Submits jobs of several groups, waits until the job trackers have shared the "
                "groups, then starts task trackers and takes the time until the last end is in the "
                "history. Fails if a job was lost or ended twice."};
  verb.options = worker_options();
  for (Option& option : verb.options) {
    if (option.name == "groups" || option.name == "workers") option.fallback = "6";
  }
  verb.options.push_back(jobs_option("200000"));
  verb.options.push_back({.name = "trackers",
                          .kind = OptionKind::kNumber,
                          .placeholder = "N",
                          .help = "Job trackers.",
                          .fallback = "3",
                          .min = 1,
                          .max = 16});
  return {.verb = std::move(verb), .run = run, .ends_all = true};
}

}  // namespace carillon::bench
