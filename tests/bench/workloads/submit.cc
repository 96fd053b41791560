// How fast jobs are taken in: no task tracker is there, so they all wait in the end.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "shared/base/mutex.h"
#include "shared/runtime/thread.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"

namespace carillon::bench {
namespace {

struct Singles {
  double jobs_per_second = 0;
  std::vector<double> answered_ms{};
};

// `callers` threads that each submit one job, wait for its answer, and again. Clients: one for
// each of them, or one for all.
Result<Singles> submit_singles(Round& round, const std::vector<std::string>& groups,
                               std::int64_t callers, bool share, std::int64_t jobs) {
  std::vector<std::unique_ptr<JobClient>> clients;
  for (std::int64_t i = 0; i < (share ? 1 : callers); ++i) {
    clients.push_back(CARILLON_TRY(round.cluster.client()));
    // The connection is made before the time is taken.
    CARILLON_TRY(clients.back()->stats());
  }
  std::atomic<std::int64_t> next{0};
  Mutex mutex;  // of what follows, which the threads add to at their end
  Singles singles;
  Status failed;
  const auto work = [&](JobClient& client) {
    std::vector<double> answered;
    Status status;
    for (std::int64_t i = next++; i < jobs && status.ok(); i = next++) {
      const SteadyTime begin = round.clock.steady_now();
      const auto answer = client.submit_one(noop_job(groups, i));
      if (!answer.ok()) {
        status = answer.error();
      } else if (answer.value().status != SubmitStatus::kAccepted) {
        status = Error{ErrorCode::kCorrupt, "a job was not accepted: " + answer.value().reason};
      }
      const auto took = std::chrono::duration_cast<Duration>(round.clock.steady_now() - begin);
      answered.push_back(milliseconds(took));
    }
    const MutexLock lock(mutex);
    singles.answered_ms.insert(singles.answered_ms.end(), answered.begin(), answered.end());
    if (!status.ok()) failed = status;
  };
  const SteadyTime begin = round.clock.steady_now();
  std::vector<std::unique_ptr<Thread>> threads;
  for (std::int64_t i = 0; i < callers; ++i) {
    JobClient& client = *clients[share ? 0 : static_cast<std::size_t>(i)];
    threads.push_back(CARILLON_TRY(Thread::start("caller", [&work, &client] { work(client); })));
  }
  for (const auto& thread : threads) thread->join();
  const auto took = std::chrono::duration_cast<Duration>(round.clock.steady_now() - begin);
  CARILLON_TRY(failed);
  singles.jobs_per_second = static_cast<double>(jobs) / seconds(took);
  return singles;
}

// Whether as many jobs wait as were accepted.
Status check_waiting(JobClient& client, const std::vector<std::string>& groups,
                     std::int64_t expected) {
  const RowPage page = CARILLON_TRY(client.groups());
  std::int64_t waiting = 0;
  for (const Row& row : page.rows) {
    if (std::find(groups.begin(), groups.end(), field_text(row, "group")) == groups.end()) continue;
    waiting += std::stoll(field_text(row, "waiting"));
  }
  if (waiting == expected) return {};
  return Error{ErrorCode::kCorrupt, std::to_string(expected) + " jobs were accepted, but " +
                                        std::to_string(waiting) + " wait"};
}

void add_singles(Figures& figures, const std::string& who, const Singles& singles) {
  figures.push_back({who, "jobs/s", singles.jobs_per_second});
  figures.push_back({who + ", answered p50", "ms", percentile(singles.answered_ms, 0.5)});
  figures.push_back({who + ", answered p99", "ms", percentile(singles.answered_ms, 0.99)});
}

Result<Figures> run(Round& round) {
  const auto jobs = static_cast<std::size_t>(round.flags.number("jobs"));
  const std::int64_t singles = round.flags.number("singles");
  const std::int64_t callers = round.flags.number("clients");
  const std::vector<std::string> groups{round.group + "-1", round.group + "-2"};
  const auto client = CARILLON_TRY(round.cluster.client());
  std::vector<JobSpec> specs;
  for (std::size_t i = 0; i < jobs; ++i) {
    specs.push_back(noop_job(groups, static_cast<std::int64_t>(i)));
  }
  CARILLON_TRY(client->stats());  // The connection is made before the time is taken.
  Meter meter(round);
  CARILLON_TRY(submit_all(*client, std::move(specs)));
  meter.stop();
  Figures figures{
      {"batches of 1000", "jobs/s", static_cast<double>(jobs) / seconds(meter.elapsed())}};
  meter.add_to(figures, jobs);
  const std::string many = std::to_string(callers);
  add_singles(figures, many + " clients, one by one",
              CARILLON_TRY(submit_singles(round, groups, callers, false, singles)));
  add_singles(figures, many + " threads of one client",
              CARILLON_TRY(submit_singles(round, groups, callers, true, singles)));
  CARILLON_TRY(check_waiting(*client, groups, static_cast<std::int64_t>(jobs) + 2 * singles));
  return figures;
}

}  // namespace

Workload submit_workload() {
  Verb verb{.name = "submit",
            .summary = "Jobs taken in: in bulk, and one by one from many clients",
            .description =
                "Submits jobs in bulk with one client; then one by one, each waiting "
                "for its answer, from many clients with a connection each and from as "
                "many threads that share a client. Fails unless all of them wait then."};
  verb.options = {jobs_option("200000"),
                  {.name = "singles",
                   .kind = OptionKind::kNumber,
                   .placeholder = "N",
                   .help = "Jobs that are submitted one by one, in each of the two ways.",
                   .fallback = "20000",
                   .min = 1,
                   .max = 10'000'000},
                  {.name = "clients",
                   .kind = OptionKind::kNumber,
                   .placeholder = "N",
                   .help = "Who submit at the same time.",
                   .fallback = "50",
                   .min = 1,
                   .max = 1000}};
  return {.verb = std::move(verb), .run = run, .warm_up = 1};
}

}  // namespace carillon::bench
