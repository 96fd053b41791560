#include "tests/bench/prober.h"

#include <utility>

#include "tests/bench/history.h"

namespace carillon::bench {
namespace {

constexpr Duration kPatience = std::chrono::seconds{20};

std::int64_t now_us(const Clock& clock) {
  return std::chrono::duration_cast<Duration>(clock.steady_now().time_since_epoch()).count();
}

}  // namespace

Result<std::unique_ptr<Prober>> Prober::open(const Round& round, const std::string& group,
                                             int threads) {
  std::unique_ptr<Prober> prober{new Prober{round.clock, group}};
  prober->client_ = CARILLON_TRY(round.cluster.client());
  TaskTrackerOptions options{.trackers = {round.cluster.endpoint()}, .group = group};
  options.threads = threads;
  options.on_ready = [raw = prober.get()](const std::string&) { raw->ready_.signal(); };
  prober->worker_ = CARILLON_TRY(TaskTracker::open(options));
  CARILLON_TRY(prober->worker_->handle("noop", [raw = prober.get()](JobContext&) {
    raw->started_us_ = now_us(raw->clock_);
    raw->started_.signal();
    return RunReport::succeeded();
  }));
  CARILLON_TRY(prober->worker_->start());
  if (!prober->ready_.wait_for(kPatience)) {
    return Error{ErrorCode::kTimeout, "the benchmark's own task tracker did not get registered"};
  }
  return prober;
}

Result<Prober::Sample> Prober::take() {
  const std::int64_t begin = now_us(clock_);
  const SubmitAnswer answer = CARILLON_TRY(
      client_->submit_one(noop_job(groups_, static_cast<std::int64_t>(submitted_.size()))));
  const std::int64_t answered = now_us(clock_);
  if (answer.status != SubmitStatus::kAccepted) {
    return Error{ErrorCode::kCorrupt, "a job was not accepted: " + answer.reason};
  }
  if (!started_.wait_for(kPatience)) {
    return Error{ErrorCode::kTimeout, "job " + answer.task_id + " was not started"};
  }
  submitted_.push_back(answer.job_id);
  return Sample{.started_ms = static_cast<double>(started_us_ - begin) / 1e3,
                .answered_ms = static_cast<double>(answered - begin) / 1e3};
}

Status Prober::check(JobClient& client) const {
  CARILLON_TRY(check_jobs(client, groups_, submitted_));
  return {};
}

void add_samples(Figures& figures, const std::string& prefix,
                 const std::vector<Prober::Sample>& samples) {
  std::vector<double> started;
  std::vector<double> answered;
  for (const Prober::Sample& sample : samples) {
    started.push_back(sample.started_ms);
    answered.push_back(sample.answered_ms);
  }
  add_percentiles(figures, prefix + "submit to start", started);
  add_percentiles(figures, prefix + "submit answered", answered);
}

}  // namespace carillon::bench
