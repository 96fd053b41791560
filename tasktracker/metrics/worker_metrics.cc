#include "tasktracker/metrics/worker_metrics.h"

#include <algorithm>
#include <string>
#include <utility>

namespace carillon::tasktracker {
namespace {

constexpr std::array<std::pair<wire::RunOutcome, const char*>, 6> kOutcomeNames = {
    {{wire::RunOutcome::kSucceeded, "succeeded"},
     {wire::RunOutcome::kFailed, "failed"},
     {wire::RunOutcome::kTimedOut, "timed_out"},
     {wire::RunOutcome::kKilled, "killed"},
     {wire::RunOutcome::kLater, "later"},
     {wire::RunOutcome::kDiscarded, "discarded"}}};

Metric worker_number(const char* name, const char* help, MetricType type, std::int64_t number) {
  return one_number(std::string{"carillon_worker_"} + name, help, type,
                    static_cast<double>(number));
}

Sample outcome_sample(const char* outcome, std::int64_t number) {
  return {.labels = {{"outcome", outcome}}, .value = static_cast<double>(number)};
}

}  // namespace

std::vector<Metric> WorkerMetrics::metrics() const {
  const std::int64_t running = std::min<std::int64_t>(held_, threads_);
  std::vector<Metric> all;
  const auto gauge = [&all](const char* name, const char* help, std::int64_t number) {
    all.push_back(worker_number(name, help, MetricType::kGauge, number));
  };
  const auto counter = [&all](const char* name, const char* help, std::int64_t number) {
    all.push_back(worker_number(name, help, MetricType::kCounter, number));
  };
  gauge("threads", "Most jobs that run at a time", threads_);
  gauge("threads_free", "Threads without a job", threads_ - running);
  gauge("jobs_running", "Jobs that run", running);
  gauge("jobs_queued", "Jobs that wait here for a thread", held_ - running);
  Metric ended{.name = "carillon_worker_runs_total",
               .help = "Runs for a job tracker that ended, by result",
               .type = MetricType::kCounter};
  for (const auto& [outcome, name] : kOutcomeNames)
    ended.samples.push_back(outcome_sample(name, ended_[static_cast<std::size_t>(outcome)]));
  all.push_back(std::move(ended));
  all.push_back({.name = "carillon_worker_run_seconds",
                 .help = "Run time of these runs",
                 .type = MetricType::kHistogram,
                 .samples = {Sample{.histogram = run_times_.values(kMicroseconds)}}});
  counter("output_bytes_total", "Bytes of output of these runs", output_bytes_);
  counter("pulls_total", "Requests for jobs", pulls_);
  counter("registrations_total", "Registrations with a job tracker, also after a reconnect",
          registrations_);
  gauge("registered", "1 while it is registered with a job tracker", is_registered_);
  gauge("results_unconfirmed", "Results that no job tracker has confirmed", unconfirmed_);
  all.push_back({.name = "carillon_worker_executor_runs_total",
                 .help = "Runs for an xxl-job admin that ended, by result",
                 .type = MetricType::kCounter,
                 .samples = {outcome_sample("succeeded", executor_succeeded_),
                             outcome_sample("failed", executor_failed_)}});
  all.push_back(build_info());
  return all;
}

}  // namespace carillon::tasktracker
