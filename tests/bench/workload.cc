#include "tests/bench/workload.h"

#include <algorithm>
#include <iterator>
#include <semaphore>
#include <thread>
#include <utility>

#include "shared/base/mutex.h"
#include "tests/bench/statistics.h"

namespace carillon::bench {
namespace {

constexpr std::size_t kPayloadBytes = 100;
constexpr int kPriorities = 5;
constexpr std::size_t kJobsOfACall = 1000;
constexpr std::ptrdiff_t kCallsUnderWay = 32;

}  // namespace

Option number_option(const std::string& name, const std::string& help, const std::string& fallback,
                     std::int64_t max) {
  return {.name = name,
          .kind = OptionKind::kNumber,
          .placeholder = "N",
          .help = help,
          .fallback = fallback,
          .min = 1,
          .max = max};
}

Option jobs_option(const std::string& fallback) {
  return number_option("jobs", "How many jobs.", fallback, 10'000'000);
}

Option seconds_option(const std::string& help, const std::string& fallback) {
  return {.name = "seconds",
          .kind = OptionKind::kNumber,
          .placeholder = "N",
          .help = help,
          .fallback = fallback,
          .min = 1,
          .max = 86'400};
}

std::vector<Option> worker_options() {
  return {{.name = "groups",
           .kind = OptionKind::kNumber,
           .placeholder = "N",
           .help = "Groups that the jobs are of, in turn; so are the task trackers.",
           .fallback = "2",
           .min = 1,
           .max = 64},
          {.name = "workers",
           .kind = OptionKind::kNumber,
           .placeholder = "N",
           .help = "Task tracker processes.",
           .fallback = "2",
           .min = 1,
           .max = 64},
          {.name = "threads",
           .kind = OptionKind::kNumber,
           .placeholder = "N",
           .help = "Threads of each.",
           .fallback = "2",
           .min = 1,
           .max = 1024}};
}

std::vector<std::string> groups_of(const Round& round) {
  std::vector<std::string> groups;
  for (std::int64_t i = 1; i <= round.flags.number("groups"); ++i) {
    groups.push_back(round.group + "-" + std::to_string(i));
  }
  return groups;
}

Status start_workers(const Round& round, const std::vector<std::string>& groups) {
  const std::int64_t workers = round.flags.number("workers");
  if (workers < static_cast<std::int64_t>(groups.size())) {
    return Error{ErrorCode::kInvalidArgument, "--workers " + std::to_string(workers) +
                                                  ": fewer than there are groups (--groups " +
                                                  std::to_string(groups.size()) + ")"};
  }
  return round.cluster.start_workers(static_cast<int>(workers),
                                     static_cast<int>(round.flags.number("threads")), groups);
}

JobSpec noop_job(const std::vector<std::string>& groups, std::int64_t number) {
  const auto count = static_cast<std::int64_t>(groups.size());
  JobSpec job;
  job.group = groups[static_cast<std::size_t>(number % count)];
  job.priority = kPriorityDefault + static_cast<int>(number / count % kPriorities);
  job.payload.assign(kPayloadBytes, 'x');
  job.run.handler = "noop";
  return job;
}

JobSpec pushed_job(const std::vector<std::string>& groups, std::int64_t number) {
  JobSpec job = noop_job(groups, number);
  const std::string digits = std::to_string(number);
  job.payload.replace(0, digits.size(), digits);
  job.dispatch = Dispatch::kPush;
  job.push.route = Route::kRound;
  job.overlap = Overlap::kParallel;
  return job;
}

Result<std::vector<JobId>> submit_all(JobClient& client, std::vector<JobSpec> jobs) {
  std::vector<JobId> ids(jobs.size());
  Mutex mutex;
  Status failed;
  std::counting_semaphore<kCallsUnderWay> room{kCallsUnderWay};
  const auto take = [&](std::size_t at, const Result<std::vector<SubmitAnswer>>& answers) {
    const MutexLock lock(mutex);
    if (!answers.ok()) {
      failed = answers.error();
    } else {
      for (const SubmitAnswer& answer : answers.value()) {
        ids[at++] = answer.job_id;
        if (answer.status == SubmitStatus::kAccepted) continue;
        failed = Error{ErrorCode::kCorrupt, std::string{"a job was answered "} +
                                                to_string(answer.status) + ": " + answer.reason};
      }
    }
    room.release();
  };
  for (std::size_t at = 0; at < jobs.size(); at += kJobsOfACall) {
    const auto first = jobs.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(kJobsOfACall, jobs.size() - at));
    room.acquire();
    client.submit_async(
        {std::make_move_iterator(first), std::make_move_iterator(last)},
        [&take, at](Result<std::vector<SubmitAnswer>> answers) { take(at, answers); });
  }
  for (std::ptrdiff_t i = 0; i < kCallsUnderWay; ++i) room.acquire();
  const MutexLock lock(mutex);  // Who released last may still hold it.
  CARILLON_TRY(failed);
  return ids;
}

void add_percentiles(Figures& figures, const std::string& what,
                     const std::vector<double>& values_ms) {
  const std::pair<const char*, double> shares[] = {
      {" p50", 0.5}, {" p90", 0.9}, {" p99", 0.99}, {" p99.9", 0.999}, {" max", 1}};
  for (const auto& [name, share] : shares) {
    figures.push_back({what + name, "ms", percentile(values_ms, share)});
  }
}

void add_all(Figures& figures, const std::string& prefix, const Figures& more) {
  for (const Figure& figure : more) {
    figures.push_back({prefix + figure.name, figure.unit, figure.value});
  }
}

void add_histogram(Figures& figures, const std::string& what,
                   const std::vector<double>& values_ms) {
  for (const int bound : {1, 2, 5, 10, 25, 50, 100, 250, 500, 1000}) {
    const auto within = std::count_if(values_ms.begin(), values_ms.end(),
                                      [bound](double value) { return value <= bound; });
    figures.push_back({what + " at most " + std::to_string(bound) + " ms", "%",
                       100 * static_cast<double>(within) / static_cast<double>(values_ms.size())});
  }
}

void pause(Duration time) { std::this_thread::sleep_for(time); }

}  // namespace carillon::bench
