#include "tests/bench/workload.h"

#include <algorithm>
#include <iterator>

#include "shared/runtime/wakeup.h"

namespace carillon::bench {
namespace {

constexpr std::size_t kPayloadBytes = 100;
constexpr int kPriorities = 5;
// Of one call: well below what a client takes at a time.
constexpr std::size_t kJobsOfACall = 100'000;

}  // namespace

Option jobs_option(const std::string& fallback) {
  return {.name = "jobs",
          .kind = OptionKind::kNumber,
          .placeholder = "N",
          .help = "How many jobs.",
          .fallback = fallback,
          .min = 1,
          .max = 10'000'000};
}

std::vector<Option> worker_options() {
  return {{.name = "workers",
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

JobSpec noop_job(const std::string& group, std::int64_t number) {
  JobSpec job;
  job.group = group;
  job.priority = kPriorityDefault + static_cast<int>(number % kPriorities);
  job.payload.assign(kPayloadBytes, 'x');
  job.run.handler = "noop";
  return job;
}

Result<std::vector<std::string>> submit_all(JobClient& client, std::vector<JobSpec> jobs) {
  std::vector<std::string> ids;
  ids.reserve(jobs.size());
  for (std::size_t at = 0; at < jobs.size(); at += kJobsOfACall) {
    const auto first = jobs.begin() + static_cast<std::ptrdiff_t>(at);
    const auto count = std::min(kJobsOfACall, jobs.size() - at);
    const auto last = first + static_cast<std::ptrdiff_t>(count);
    const auto answers = CARILLON_TRY(
        client.submit({std::make_move_iterator(first), std::make_move_iterator(last)}));
    for (const SubmitAnswer& answer : answers) {
      if (answer.status != SubmitStatus::kAccepted) {
        return Error{ErrorCode::kCorrupt, std::string{"a job was answered "} +
                                              to_string(answer.status) + ": " + answer.reason};
      }
      ids.push_back(std::to_string(answer.job_id.value));
    }
  }
  return ids;
}

void pause(Duration time) {
  Wakeup never;
  never.wait_for(time);
}

}  // namespace carillon::bench
