// How long a single job waits on an idle system: from just before the call that submits it to its
// handler's first line, both on this process's steady clock.
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "carillon/task_tracker.h"
#include "shared/runtime/wakeup.h"
#include "tests/bench/end_check.h"
#include "tests/bench/history.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"

namespace carillon::bench {
namespace {

constexpr Duration kPatience = std::chrono::seconds{10};

// Told by the handler, waited for by the round.
struct Start {
  std::atomic<std::int64_t> at_us{0};
  Wakeup came{};
  Wakeup ready{};  // the worker has registered
};

std::int64_t now_us(const Clock& clock) {
  return std::chrono::duration_cast<Duration>(clock.steady_now().time_since_epoch()).count();
}

// A task tracker as any program of a user's has it.
Result<std::unique_ptr<TaskTracker>> open_worker(const Round& round, Start& start) {
  TaskTrackerOptions options{.trackers = {round.cluster.endpoint()}, .group = round.group};
  options.threads = static_cast<int>(round.flags.number("threads"));
  options.token_file = round.cluster.token_file();
  options.on_ready = [&start](const std::string&) { start.ready.signal(); };
  auto worker = CARILLON_TRY(TaskTracker::open(options));
  CARILLON_TRY(worker->handle("noop", [&start, &clock = round.clock](JobContext&) {
    start.at_us = now_us(clock);
    start.came.signal();
    return RunReport::succeeded();
  }));
  CARILLON_TRY(worker->start());
  if (!start.ready.wait_for(kPatience)) {
    return Error{ErrorCode::kTimeout, "the benchmark's own task tracker did not get registered"};
  }
  return worker;
}

// What a commit can't be faster than: 4 KiB appended to a file and flushed, on the disk where the
// round's files are. Taken between the jobs, so that both meet the same noise.
class FlushProbe {
 public:
  FlushProbe(const Round& round, const std::string& path)
      : clock_(round.clock), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) {}
  ~FlushProbe() { ::close(file_); }
  FlushProbe(const FlushProbe&) = delete;
  FlushProbe& operator=(const FlushProbe&) = delete;

  Status take() {
    const std::string page(4096, 'x');
    const std::int64_t begin = now_us(clock_);
    if (::write(file_, page.data(), page.size()) < 0 || ::fdatasync(file_) != 0) {
      return Error{ErrorCode::kUnavailable, std::string{"flush probe: "} + std::strerror(errno)};
    }
    took_ms_.push_back(static_cast<double>(now_us(clock_) - begin) / 1e3);
    return {};
  }
  const std::vector<double>& took_ms() const { return took_ms_; }

 private:
  const Clock& clock_;
  const int file_;
  std::vector<double> took_ms_{};
};

Result<Figures> run(Round& round) {
  const auto jobs = static_cast<std::size_t>(round.flags.number("jobs"));
  const auto warm_up = static_cast<std::size_t>(round.flags.number("warm-up"));
  const auto client = CARILLON_TRY(round.cluster.client());
  Start start;
  const auto worker = CARILLON_TRY(open_worker(round, start));
  std::vector<std::string> submitted;
  std::vector<double> started_ms;
  std::vector<double> answered_ms;
  FlushProbe probe(round, round.cluster.folder() + "/flush-probe");
  Meter meter(round);
  for (std::size_t i = 0; i < warm_up + jobs; ++i) {
    const std::int64_t begin = now_us(round.clock);
    const SubmitAnswer answer =
        CARILLON_TRY(client->submit_one(noop_job(round.group, static_cast<std::int64_t>(i))));
    const std::int64_t answered = now_us(round.clock);
    if (!start.came.wait_for(kPatience)) {
      return Error{ErrorCode::kTimeout, "job " + answer.task_id + " was not started"};
    }
    submitted.push_back(std::to_string(answer.job_id.value));
    if (i >= warm_up) {
      started_ms.push_back(static_cast<double>(start.at_us - begin) / 1e3);
      answered_ms.push_back(static_cast<double>(answered - begin) / 1e3);
    }
    pause(round.flags.duration("gap"));
    CARILLON_TRY(probe.take());
    pause(round.flags.duration("gap"));
  }
  meter.stop();
  CARILLON_TRY(await_counter(*client, "attempts_ended_total",
                             static_cast<std::int64_t>(submitted.size()), kPatience));
  std::vector<End> ends;
  for (HistoryRow& row : CARILLON_TRY(read_history(*client, round.group))) {
    ends.push_back({.key = std::move(row.job_id), .state = std::move(row.state)});
  }
  CARILLON_TRY(check_each_succeeded_once(submitted, ends));
  Figures figures{{"submit to start p50", "ms", percentile(started_ms, 0.5)},
                  {"submit to start p99", "ms", percentile(started_ms, 0.99)},
                  {"submit to start max", "ms", percentile(started_ms, 1)},
                  {"submit answered p50", "ms", percentile(answered_ms, 0.5)},
                  {"submit answered p99", "ms", percentile(answered_ms, 0.99)},
                  {"one flush of the disk p50", "ms", percentile(probe.took_ms(), 0.5)},
                  {"one flush of the disk p99", "ms", percentile(probe.took_ms(), 0.99)}};
  meter.add_to(figures, submitted.size());
  return figures;
}

}  // namespace

Workload latency_workload() {
  Verb verb{.name = "latency",
            .summary = "From submit to start, one job at a time",
            .description =
                "Submits one job, waits for its start and a moment more, and so on. The "
                "task tracker is one of the library's, inside this process."};
  verb.options = {
      jobs_option("500"),
      {.name = "threads",
       .kind = OptionKind::kNumber,
       .placeholder = "N",
       .help = "Threads of the task tracker.",
       .fallback = "2",
       .min = 1,
       .max = 1024},
      {.name = "warm-up",
       .kind = OptionKind::kNumber,
       .placeholder = "N",
       .help = "Jobs before those that count.",
       .fallback = "50"},
      {.name = "gap",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "After a job's start, and again before the next submit, so that it finds all idle.",
       .fallback = "5ms"}};
  return {.verb = std::move(verb), .run = run};
}

}  // namespace carillon::bench
