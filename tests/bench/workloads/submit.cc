// How fast jobs are taken in: no task tracker is there, so they all wait in the end.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "shared/base/mutex.h"
#include "shared/runtime/thread.h"
#include "tests/bench/history.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"
#include "tests/bench/workloads/measures.h"

namespace carillon::bench {
namespace {

constexpr Duration kPatience = std::chrono::seconds{20};

struct Singles {
  double jobs_per_second = 0;
  std::vector<JobId> jobs{};
  std::vector<double> answered_ms{};
  Figures cost{};
};

// Threads that each submit one job, wait for its answer, and again. Clients: one for each of them,
// or one for all.
Result<Singles> submit_singles(Round& round, const SubmitPlan& plan, bool share) {
  std::vector<std::unique_ptr<JobClient>> clients;
  for (std::int64_t i = 0; i < (share ? 1 : plan.callers); ++i) {
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
    std::vector<JobId> accepted;
    Status status;
    for (std::int64_t i = next++; i < plan.singles && status.ok(); i = next++) {
      const SteadyTime begin = round.clock.steady_now();
      const auto answer = client.submit_one(noop_job(plan.groups, i));
      if (!answer.ok()) {
        status = answer.error();
      } else if (answer.value().status != SubmitStatus::kAccepted) {
        status = Error{ErrorCode::kCorrupt, "a job was not accepted: " + answer.value().reason};
      }
      const auto took = std::chrono::duration_cast<Duration>(round.clock.steady_now() - begin);
      answered.push_back(milliseconds(took));
      if (status.ok()) accepted.push_back(answer.value().job_id);
    }
    const MutexLock lock(mutex);
    singles.answered_ms.insert(singles.answered_ms.end(), answered.begin(), answered.end());
    singles.jobs.insert(singles.jobs.end(), accepted.begin(), accepted.end());
    if (!status.ok()) failed = status;
  };
  Meter meter(round);
  std::vector<std::unique_ptr<Thread>> threads;
  for (std::int64_t i = 0; i < plan.callers; ++i) {
    JobClient& client = *clients[share ? 0 : static_cast<std::size_t>(i)];
    threads.push_back(CARILLON_TRY(Thread::start("caller", [&work, &client] { work(client); })));
  }
  for (const auto& thread : threads) thread->join();
  meter.stop();
  CARILLON_TRY(failed);
  singles.jobs_per_second = static_cast<double>(plan.singles) / seconds(meter.elapsed());
  meter.add_to(singles.cost, static_cast<std::size_t>(plan.singles));
  return singles;
}

void add_singles(Figures& figures, const std::string& who, const Singles& singles) {
  figures.push_back({who, "jobs/s", singles.jobs_per_second});
  figures.push_back({who + ", answered p50", "ms", percentile(singles.answered_ms, 0.5)});
  figures.push_back({who + ", answered p99", "ms", percentile(singles.answered_ms, 0.99)});
  add_all(figures, who + ", ", singles.cost);
}

Result<Figures> run(Round& round) {
  return measure_submit(round, {.groups = groups_of(round),
                                .jobs = round.flags.number("jobs"),
                                .singles = round.flags.number("singles"),
                                .callers = round.flags.number("clients")});
}

}  // namespace

Status check_by_running(Round& round, JobClient& client, const std::vector<std::string>& groups,
                        const std::vector<JobId>& submitted) {
  const std::int64_t ended_before = CARILLON_TRY(read_counter(client, "attempts_ended_total"));
  CARILLON_TRY(start_workers(round, groups));
  CARILLON_TRY(await_counter(client, "attempts_ended_total",
                             ended_before + static_cast<std::int64_t>(submitted.size()),
                             kPatience));
  CARILLON_TRY(round.cluster.await_workers());
  CARILLON_TRY(round.cluster.stop_workers());
  CARILLON_TRY(check_jobs(client, groups, submitted));
  return {};
}

Result<Figures> measure_submit(Round& round, const SubmitPlan& plan) {
  const auto client = CARILLON_TRY(round.cluster.client());
  std::vector<JobSpec> specs;
  for (std::int64_t i = 0; i < plan.jobs; ++i) specs.push_back(noop_job(plan.groups, i));
  CARILLON_TRY(client->stats());  // The connection is made before the time is taken.
  Meter meter(round);
  auto submitted = CARILLON_TRY(submit_all(*client, std::move(specs)));
  meter.stop();
  Figures figures{
      {"batches of 1000", "jobs/s", static_cast<double>(plan.jobs) / seconds(meter.elapsed())}};
  meter.add_to(figures, submitted.size());
  const std::string many = std::to_string(plan.callers);
  for (const bool share : {false, true}) {
    const Singles one_by_one = CARILLON_TRY(submit_singles(round, plan, share));
    add_singles(figures, many + (share ? " threads of one client" : " clients, one by one"),
                one_by_one);
    submitted.insert(submitted.end(), one_by_one.jobs.begin(), one_by_one.jobs.end());
  }
  CARILLON_TRY(check_by_running(round, *client, plan.groups, submitted));
  return figures;
}

Workload submit_workload() {
  Verb verb{.name = "submit",
            .summary = "Jobs taken in: in bulk, and one by one from many clients",
            .description =
                "Submits jobs in bulk with one client; then one by one, each waiting "
                "for its answer, from many clients with a connection each and from as "
                "many threads that share a client. Then task trackers run them all; fails if "
                "a job was lost or ended twice."};
  verb.options = worker_options();
  verb.options.push_back(jobs_option("200000"));
  verb.options.push_back(
      number_option("singles", "Jobs that are submitted one by one, in each of the two ways.",
                    "20000", 10'000'000));
  verb.options.push_back(number_option("clients", "Who submit at the same time.", "50", 1000));
  return {.verb = std::move(verb), .run = run, .ends_all = true, .warm_up = 1};
}

}  // namespace carillon::bench
