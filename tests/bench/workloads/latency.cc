// How long a single job waits: from just before the call that submits it to its handler's first
// line, on an idle system or beside a steady load.
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "tests/bench/history.h"
#include "tests/bench/meter.h"
#include "tests/bench/prober.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"
#include "tests/bench/workloads/measures.h"

namespace carillon::bench {
namespace {

constexpr const char* kEnded = "attempts_ended_total";
constexpr Duration kPatience = std::chrono::seconds{20};

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
    const SteadyTime begin = clock_.steady_now();
    if (::write(file_, page.data(), page.size()) < 0 || ::fdatasync(file_) != 0) {
      return Error{ErrorCode::kUnavailable, std::string{"flush probe: "} + std::strerror(errno)};
    }
    took_ms_.push_back(
        milliseconds(std::chrono::duration_cast<Duration>(clock_.steady_now() - begin)));
    return {};
  }
  const std::vector<double>& took_ms() const { return took_ms_; }

 private:
  const Clock& clock_;
  const int file_;
  std::vector<double> took_ms_{};
};

Result<Figures> run(Round& round) {
  return measure_latency(round, {.group = round.group,
                                 .jobs = round.flags.number("jobs"),
                                 .warm_up = round.flags.number("warm-up-jobs"),
                                 .gap = round.flags.duration("gap"),
                                 .threads = static_cast<int>(round.flags.number("threads"))});
}

}  // namespace

Result<Figures> measure_latency(Round& round, const LatencyPlan& plan) {
  const auto client = CARILLON_TRY(round.cluster.client());
  const auto prober = CARILLON_TRY(Prober::open(round, plan.group, plan.threads));
  const std::int64_t ended_before = CARILLON_TRY(read_counter(*client, kEnded));
  std::vector<Prober::Sample> samples;
  FlushProbe flush(round, round.cluster.folder() + "/flush-probe");
  Meter meter(round);
  for (std::int64_t i = 0; i < plan.warm_up + plan.jobs; ++i) {
    const Prober::Sample sample = CARILLON_TRY(prober->take());
    if (i >= plan.warm_up) samples.push_back(sample);
    pause(plan.gap);
    CARILLON_TRY(flush.take());
    pause(plan.gap);
  }
  meter.stop();
  CARILLON_TRY(await_counter(*client, kEnded,
                             ended_before + static_cast<std::int64_t>(prober->jobs()), kPatience));
  CARILLON_TRY(prober->check(*client));
  Figures figures;
  add_samples(figures, "", samples);
  figures.push_back({"one flush of the disk p50", "ms", percentile(flush.took_ms(), 0.5)});
  figures.push_back({"one flush of the disk p99", "ms", percentile(flush.took_ms(), 0.99)});
  meter.add_to(figures, prober->jobs());
  return figures;
}

Workload latency_workload() {
  Verb verb{.name = "latency",
            .summary = "From submit to start, one job at a time, with nothing else to do",
            .description =
                "Submits one job, waits for its start and a moment more, and so on. The task "
                "tracker is one of the library's, inside this process. The same beside a load: "
                "see flow."};
  verb.options = {
      jobs_option("500"),
      {.name = "threads",
       .kind = OptionKind::kNumber,
       .placeholder = "N",
       .help = "Threads of the task tracker.",
       .fallback = "2",
       .min = 1,
       .max = 1024},
      {.name = "warm-up-jobs",
       .kind = OptionKind::kNumber,
       .placeholder = "N",
       .help = "Jobs before those that count.",
       .fallback = "50"},
      {.name = "gap",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "After a job's start, and again before the next submit, so that it finds all idle.",
       .fallback = "5ms"}};
  return {.verb = std::move(verb), .run = run, .ends_all = true};
}

}  // namespace carillon::bench
