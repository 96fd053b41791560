// How long running jobs are interrupted when the processes that run or lead them are killed.
#include <map>
#include <set>
#include <utility>

#include "shared/base/time_text.h"
#include "tests/bench/history.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"

namespace carillon::bench {
namespace {

constexpr Duration kPatience = std::chrono::seconds{60};
// Longer than it takes until the runs of one that was killed are lost, and start again.
constexpr Duration kUntilLost = std::chrono::seconds{20};
constexpr Duration kLook = std::chrono::milliseconds{50};
// Beside those that the jobs hold, for a job that comes in between.
constexpr int kSpareThreads = 8;

// The same number of jobs, held by one task tracker, again and again.
class Recovery {
 public:
  Recovery(Round& round, JobClient& client)
      : round_(round), client_(client), jobs_(round.flags.number("jobs")) {}

  Status start_worker() {
    CARILLON_TRY(
        round_.cluster.start_workers(1, static_cast<int>(jobs_) + kSpareThreads, {round_.group}));
    return round_.cluster.await_workers();
  }

  // Returns when all of them run.
  Status hold_jobs() {
    std::vector<JobSpec> specs;
    for (std::int64_t i = 0; i < jobs_; ++i) {
      JobSpec& job = specs.emplace_back(noop_job({round_.group}, i));
      job.run.handler = "sleep";
      job.params["duration"] = std::to_string(round_.flags.duration("hold").count() / 1000) + "ms";
    }
    held_ = CARILLON_TRY(submit_all(client_, std::move(specs)));
    submitted_ += held_.size();
    const SteadyTime end = round_.clock.steady_now() + kPatience;
    while (true) {
      const std::int64_t running = CARILLON_TRY(count_executing());
      if (running == jobs_) return {};
      if (round_.clock.steady_now() > end) {
        return Error{ErrorCode::kTimeout,
                     std::to_string(running) + " jobs run, not " + std::to_string(jobs_)};
      }
      pause(kLook);
    }
  }

  // From `since` to the start of the last of the held jobs' attempts, all of which must have
  // succeeded, and none but the first been lost if `again`; otherwise none was tried again. Nor may
  // anything have come of the jobs before them.
  Result<Duration> await_last_start(WallTime since, bool again) {
    for (const JobId id : held_) {
      expected_[id] = again ? States{"lost", "succeeded"} : States{"succeeded"};
    }
    seen_ += held_.size() * (again ? 2 : 1);
    // What is missing then is said of the job that it is missing of.
    const Status awaited =
        await_history(client_, round_.group, seen_, round_.flags.duration("hold") + kUntilLost);
    WallTime last{};
    Status failed;
    std::map<JobId, States> states;
    for (const auto& [id, of_job] : expected_) states[id];
    CARILLON_TRY(read_history(client_, {round_.group}, [&](const HistoryRow& row) {
      states[row.job_id].insert(row.state);
      const auto at = parse_time(row.trigger_time);
      if (!at.ok()) failed = at.error();
      if (!at.ok() || row.state != "succeeded") return;
      last =
          std::max(last, at.value() + Duration{static_cast<std::int64_t>(row.lateness_ms * 1000)});
    }));
    CARILLON_TRY(failed);
    for (const auto& [id, of_job] : states) {
      if (of_job == expected_[id]) continue;
      std::string text;
      for (const std::string& state : of_job) text += " " + state;
      return Error{ErrorCode::kCorrupt,
                   "job " + std::to_string(id.value) + " ended as" + text + ", not as expected"};
    }
    CARILLON_TRY(awaited);
    return std::chrono::duration_cast<Duration>(last - since);
  }

  // From `since` until a job that comes now has ended.
  Result<Duration> await_new_job(WallTime since) {
    const auto answer = CARILLON_TRY(client_.submit_one(noop_job({round_.group}, 0)));
    expected_[answer.job_id] = {"succeeded"};
    ++submitted_;
    CARILLON_TRY(await_history(client_, round_.group, ++seen_, kPatience));
    return std::chrono::duration_cast<Duration>(round_.clock.wall_now() - since);
  }

  std::size_t submitted() const { return submitted_; }

 private:
  using States = std::multiset<std::string>;

  Result<std::int64_t> count_executing() {
    std::int64_t count = 0;
    RowFilter filter{.group = round_.group, .limit = 2000};
    do {
      const RowPage page = CARILLON_TRY(client_.executing(filter));
      for (const Row& row : page.rows) {
        if (!field_text(row, "started_at").empty()) ++count;
      }
      filter.after = page.next;
    } while (!filter.after.empty());
    return count;
  }

  Round& round_;
  JobClient& client_;
  const std::int64_t jobs_;
  std::vector<JobId> held_{};
  std::map<JobId, States> expected_{};  // what becomes of each
  std::size_t submitted_ = 0;           // by all of the above
  std::size_t seen_ = 0;                // rows of the history so far
};

Result<Figures> run(Round& round) {
  const auto client = CARILLON_TRY(round.cluster.client());
  const Clock& clock = round.clock;
  Recovery recovery(round, *client);
  Figures figures;
  Meter meter(round);

  CARILLON_TRY(recovery.start_worker());
  CARILLON_TRY(recovery.hold_jobs());
  CARILLON_TRY(recovery.start_worker());  // Another, with nothing to do.
  WallTime killed = clock.wall_now();
  round.cluster.kill_oldest_worker();
  const Duration worker = CARILLON_TRY(recovery.await_last_start(killed, true));
  figures.push_back({"worker killed, last job runs again", "s", seconds(worker)});

  CARILLON_TRY(recovery.hold_jobs());
  killed = clock.wall_now();
  round.cluster.kill_tracker();
  CARILLON_TRY(round.cluster.start_tracker());
  figures.push_back({"job tracker killed, ready again", "s",
                     seconds(std::chrono::duration_cast<Duration>(clock.wall_now() - killed))});
  const Duration ended = CARILLON_TRY(recovery.await_new_job(killed));
  figures.push_back({"job tracker killed, a new job has ended", "s", seconds(ended)});
  CARILLON_TRY(recovery.await_last_start(killed, false));  // They went on all the time.

  CARILLON_TRY(recovery.hold_jobs());
  killed = clock.wall_now();
  round.cluster.kill_oldest_worker();
  round.cluster.kill_tracker();
  CARILLON_TRY(round.cluster.start_tracker());
  CARILLON_TRY(recovery.start_worker());
  const Duration both = CARILLON_TRY(recovery.await_last_start(killed, true));
  figures.push_back({"both killed, last job runs again", "s", seconds(both)});
  meter.stop();
  CARILLON_TRY(round.cluster.stop_workers());
  meter.add_to(figures, recovery.submitted());
  return figures;
}

}  // namespace

Workload recover_workload() {
  Verb verb{.name = "recover",
            .summary = "Killed with a thousand jobs running: when does the last run again?",
            .description =
                "Lets jobs sleep in a task tracker and kills it while another one stands by; then "
                "the job tracker, which is started again at once; then both. Fails if a job did "
                "not end exactly once, or was tried again without need."};
  verb.options = {jobs_option("1000"),
                  {.name = "hold",
                   .kind = OptionKind::kDuration,
                   .placeholder = "TIME",
                   .help = "How long a job runs; longer than anything takes here.",
                   .fallback = "15s"}};
  return {.verb = std::move(verb), .run = run, .ends_all = true};
}

}  // namespace carillon::bench
