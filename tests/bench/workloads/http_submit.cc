// What a job costs over HTTP, beside what it costs over ZeroMQ.
#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "shared/base/mutex.h"
#include "shared/runtime/thread.h"
#include "shared/wire/spec_json.h"
#include "tests/bench/api_client.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"
#include "tests/bench/workloads/measures.h"

namespace carillon::bench {
namespace {

// Submits one job and waits for its answer.
using SubmitOne = std::function<Result<JobId>(const JobSpec&)>;

// One way to submit, and what its turns took.
struct Way {
  std::string name{};
  std::vector<SubmitOne> callers{};
  std::vector<double> jobs_per_second{};
  std::vector<double> answered_ms{};
  std::vector<Figures> costs{};
};

Result<JobId> submit_over_zmq(JobClient& client, const JobSpec& job) {
  const auto answer = CARILLON_TRY(client.submit_one(job));
  if (answer.status == SubmitStatus::kAccepted) return answer.job_id;
  return Error{ErrorCode::kCorrupt, "a job was not accepted: " + answer.reason};
}

Result<JobId> submit_over_http(ApiClient& client, const JobSpec& job) {
  const std::string body = CARILLON_TRY(client.post("/api/v1/jobs", wire::spec_to_json(job)));
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (json.is_object() && json.contains("results") && json["results"].size() == 1) {
    const auto& answer = json["results"][0];
    if (answer.value("status", "") == "accepted")
      return JobId{std::stoll(answer.value("job_id", "0"))};
  }
  return Error{ErrorCode::kCorrupt, "a job was not accepted: " + body};
}

// Both ways in turns, each with the same number of callers.
class Turns {
 public:
  explicit Turns(Round& round)
      : round_(round),
        groups_(groups_of(round)),
        jobs_(round.flags.number("jobs")),
        zmq_{.name = "ZeroMQ"},
        http_{.name = "HTTP"} {}

  // Connects all of them, so that no turn has to.
  Status connect() {
    const std::int64_t count = round_.flags.number("clients");
    for (std::int64_t i = 0; i < count; ++i) {
      job_clients_.push_back(CARILLON_TRY(round_.cluster.client()));
      CARILLON_TRY(job_clients_.back()->stats());
    }
    const std::string token = CARILLON_TRY(make_api_token(*job_clients_.front()));
    for (std::int64_t i = 0; i < count; ++i) {
      api_clients_.push_back(CARILLON_TRY(ApiClient::open(round_.cluster.http_url(), token)));
      CARILLON_TRY(api_clients_.back()->get("/api/v1/whoami"));
    }
    for (const auto& client : job_clients_) {
      zmq_.callers.push_back(
          [raw = client.get()](const JobSpec& job) { return submit_over_zmq(*raw, job); });
    }
    for (const auto& client : api_clients_) {
      http_.callers.push_back(
          [raw = client.get()](const JobSpec& job) { return submit_over_http(*raw, job); });
    }
    return {};
  }

  // The first turns warm up, and do not count.
  Status take() {
    CARILLON_TRY(take_turn(zmq_, false));
    CARILLON_TRY(take_turn(http_, false));
    for (std::int64_t i = 0; i < round_.flags.number("turns"); ++i) {
      CARILLON_TRY(take_turn(zmq_, true));
      CARILLON_TRY(take_turn(http_, true));
    }
    return {};
  }

  Status check() { return check_by_running(round_, *job_clients_.front(), groups_, submitted_); }

  Figures figures() const {
    Figures figures;
    add_way(figures, zmq_);
    add_way(figures, http_);
    std::vector<double> ratios;
    for (std::size_t i = 0; i < zmq_.jobs_per_second.size(); ++i)
      ratios.push_back(http_.jobs_per_second[i] / zmq_.jobs_per_second[i]);
    const Spread spread = spread_of(ratios);
    figures.push_back({"HTTP / ZeroMQ", "x", spread.median});
    figures.push_back({"HTTP / ZeroMQ, least of the turns", "x", spread.min});
    figures.push_back({"HTTP / ZeroMQ, most of the turns", "x", spread.max});
    return figures;
  }

 private:
  Status take_turn(Way& way, bool counts) {
    std::atomic<std::int64_t> next{0};
    Mutex mutex;  // of what follows, which the threads add to at their end
    std::vector<double> answered_ms;
    Status failed;
    const auto work = [&](const SubmitOne& submit) {
      std::vector<double> took_ms;
      std::vector<JobId> accepted;
      Status status;
      for (std::int64_t i = next++; i < jobs_ && status.ok(); i = next++) {
        const JobSpec job = noop_job(groups_, i);
        const SteadyTime begin = round_.clock.steady_now();
        const auto answer = submit(job);
        took_ms.push_back(
            milliseconds(std::chrono::duration_cast<Duration>(round_.clock.steady_now() - begin)));
        answer.ok() ? accepted.push_back(answer.value()) : void(status = answer.error());
      }
      const MutexLock lock(mutex);
      answered_ms.insert(answered_ms.end(), took_ms.begin(), took_ms.end());
      submitted_.insert(submitted_.end(), accepted.begin(), accepted.end());
      if (!status.ok()) failed = status;
    };
    Meter meter(round_);
    std::vector<std::unique_ptr<Thread>> threads;
    for (const SubmitOne& caller : way.callers) {
      threads.push_back(CARILLON_TRY(Thread::start("caller", [&work, &caller] { work(caller); })));
    }
    for (const auto& thread : threads) thread->join();
    meter.stop();
    CARILLON_TRY(failed);
    if (!counts) return {};
    way.jobs_per_second.push_back(static_cast<double>(jobs_) / seconds(meter.elapsed()));
    way.answered_ms.insert(way.answered_ms.end(), answered_ms.begin(), answered_ms.end());
    meter.add_to(way.costs.emplace_back(), static_cast<std::size_t>(jobs_));
    return {};
  }

  // Medians of its turns.
  static void add_way(Figures& figures, const Way& way) {
    figures.push_back({way.name, "jobs/s", spread_of(way.jobs_per_second).median});
    figures.push_back({way.name + ", answered p50", "ms", percentile(way.answered_ms, 0.5)});
    figures.push_back({way.name + ", answered p99", "ms", percentile(way.answered_ms, 0.99)});
    for (std::size_t i = 0; i < way.costs.front().size(); ++i) {
      Figure figure = way.costs.front()[i];
      std::vector<double> values;
      for (const Figures& cost : way.costs) values.push_back(cost.at(i).value);
      figure.value = spread_of(std::move(values)).median;
      figure.name = way.name + ", " + figure.name;
      figures.push_back(std::move(figure));
    }
  }

  Round& round_;
  const std::vector<std::string> groups_;
  const std::int64_t jobs_;  // of a turn
  std::vector<std::unique_ptr<JobClient>> job_clients_{};
  std::vector<std::unique_ptr<ApiClient>> api_clients_{};
  Way zmq_;
  Way http_;
  std::vector<JobId> submitted_{};
};

Result<Figures> run(Round& round) {
  Turns turns(round);
  CARILLON_TRY(turns.connect());
  CARILLON_TRY(turns.take());
  CARILLON_TRY(turns.check());
  return turns.figures();
}

}  // namespace

Workload http_submit_workload() {
  Verb verb{.name = "http-submit",
            .summary = "Jobs submitted one by one over HTTP and over ZeroMQ, in turns",
            .description =
                "Submits jobs one by one from many clients with a kept connection each: in turns "
                "over ZeroMQ with the client library, and over HTTP with POST /api/v1/jobs. Each "
                "client waits for its answer. Then task trackers run them all; fails if a request "
                "failed, or if a job was lost or ended twice."};
  verb.options = worker_options();
  verb.options.push_back(jobs_option("20000"));
  verb.options.back().help = "How many jobs in each turn.";
  verb.options.push_back(
      number_option("turns", "Turns of each way, after one that does not count.", "5", 1000));
  verb.options.push_back(number_option("clients", "Who submit at the same time.", "50", 100));
  return {.verb = std::move(verb), .run = run, .ends_all = true};
}

}  // namespace carillon::bench
