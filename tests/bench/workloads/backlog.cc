// What a large number of waiting jobs costs: start-up, memory, and the figures of the other
// workloads once more.
#include <algorithm>
#include <limits>
#include <utility>

#include "tests/bench/direct_store.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"
#include "tests/bench/workloads/measures.h"
#include "tests/bench/workloads/run_flow.h"

namespace carillon::bench {
namespace {

using namespace jobtracker;

constexpr std::int64_t kJobsOfAUnit = 1000;
constexpr std::size_t kAhead = 20'000;
// One in so many waits for a worker of its group, which never comes; the others for their day,
// every second of them in a group that is served meanwhile.
constexpr std::int64_t kDueOneIn = 100;
constexpr Duration kDay = std::chrono::hours{24};
constexpr Duration kSpread = 30 * kDay;

// Its place among so many groups, of which nobody serves the last.
std::size_t group_of(std::int64_t number, bool is_due, std::size_t groups) {
  if (is_due || number % 2 == 0) return groups - 1;
  return static_cast<std::size_t>(number / 2) % (groups - 1);
}

// As users choose them: unlike one another, and in no order of their creation.
std::string task_id_of(std::int64_t number) {
  return "order-" + std::to_string(static_cast<std::uint64_t>(number) * 0x9E3779B97F4A7C15U);
}

// The times are the same distance apart, but not in the order of creation either.
WallTime far_time_of(std::int64_t number, WallTime now) {
  return now + kDay + Duration{(number * 7'919'777'777) % kSpread.count()};
}

// Those that jobs are submitted to and run of, but for those of cron, whose next fires wait there.
std::vector<std::string> served_groups(const Round& round) {
  std::vector<std::string> names{round.group};
  for (const char* of : {"-drain", "-submit", "-flow", "-burst"}) {
    for (const std::string& group : groups_of(round)) names.push_back(group + of);
  }
  return names;
}

struct Backlog {
  std::int64_t jobs = 0;
  std::vector<GroupId> groups{};  // of which they are
};

// Past the job tracker, into the store: a client would take hours.
Result<Backlog> fill(Round& round, std::int64_t jobs, std::int64_t task_ids_percent) {
  // Nothing waits behind a commit here, so they may be long.
  BatcherConfig config;
  config.rows_time_aim = std::chrono::seconds{1};
  const auto store = CARILLON_TRY(DirectStore::open(round.store_url, round.clock, config));
  std::vector<std::string> names = served_groups(round);
  names.push_back(round.group + "-backlog");
  Backlog backlog{.jobs = jobs};
  for (const std::string& name : names) {
    backlog.groups.push_back(CARILLON_TRY(store->make_group(name)));
  }
  const WallTime now = round.clock.wall_now();
  Status failed;
  const auto check = [&failed](std::vector<Operation>&, const std::vector<Outcome>& outcomes,
                               const Error* refused) {
    if (refused != nullptr) failed = *refused;
    for (const Outcome& outcome : outcomes) {
      if (outcome.kind == OutcomeKind::kDone) continue;
      failed = Error{ErrorCode::kConflict, "a job of the backlog was not added"};
    }
  };
  for (std::int64_t number = 0; number < jobs || store->batcher().pending_rows() > 0;) {
    while (number < jobs && store->batcher().pending_rows() < kAhead) {
      std::vector<Operation> operations;
      for (std::int64_t i = 0; i < kJobsOfAUnit && number < jobs; ++i, ++number) {
        const bool is_due = number % kDueOneIn == 0;
        const std::size_t place = group_of(number, is_due, names.size());
        JobSpec spec = noop_job({names[place]}, number);
        // By the hundred, so that it is the same share of those that are due and of the others.
        if (number / kDueOneIn % 100 < task_ids_percent) spec.task_id = task_id_of(number);
        if (!is_due) {
          spec.schedule.kind = ScheduleKind::kAt;
          spec.schedule.at = far_time_of(number, now);
        }
        const WallTime due = is_due ? now : spec.schedule.at;
        WaitingJob job = store->make_job(std::move(spec), backlog.groups[place], due);
        job.delayed = !is_due;
        operations.emplace_back(AddJob{.job = std::move(job)});
      }
      store->batcher().post_unit(Urgency::kBulk, std::move(operations), check);
    }
    CARILLON_TRY(store->commit_one());
    CARILLON_TRY(failed);
  }
  return backlog;
}

// Whether all of them still wait. The job tracker has stopped.
Status check_waiting(const Round& round, const Backlog& backlog) {
  const auto store = CARILLON_TRY(DirectStore::open(round.store_url, round.clock));
  const auto answer = CARILLON_TRY(store->ask(CountWaiting{
      .now = round.clock.wall_now(), .rows_max = std::numeric_limits<std::int64_t>::max()}));
  std::int64_t waiting = 0;
  for (const CountAnswer::PerGroup& of : std::get<CountAnswer>(answer).groups) {
    const bool is_ours =
        std::find(backlog.groups.begin(), backlog.groups.end(), of.group) != backlog.groups.end();
    if (is_ours) waiting += of.waiting;
  }
  if (waiting == backlog.jobs) return {};
  return Error{ErrorCode::kCorrupt, "of " + std::to_string(backlog.jobs) +
                                        " jobs that were to wait to the end, " +
                                        std::to_string(waiting) + " do"};
}

double peak_memory_mib(const Round& round) {
  return static_cast<double>(round.cluster.tracker_usage().peak_memory_kib) / 1024;
}

// What each workload says, with the backlog in place. The workers of one are gone before the next
// begins; the schedules, which go on for ever, come last.
Status measure_all(Round& round, Figures& figures) {
  const auto groups = [&round](const char* of) {
    std::vector<std::string> names;
    for (const std::string& group : groups_of(round)) names.push_back(group + of);
    return names;
  };
  const Configuration& flags = round.flags;
  add_all(figures, "latency: ", CARILLON_TRY(measure_latency(round, {.group = round.group})));
  add_all(figures, "drain: ",
          CARILLON_TRY(measure_drain(round, groups("-drain"), flags.number("jobs"), false)));
  add_all(figures, "submit: ",
          CARILLON_TRY(measure_submit(round, {.groups = groups("-submit"),
                                              .jobs = flags.number("jobs"),
                                              .singles = flags.number("singles")})));
  const FlowSeen flow = CARILLON_TRY(run_flow(
      round, {.feed = {.groups = groups("-flow")}, .seconds = flags.number("flow-seconds")}));
  figures.push_back({"flow: maximum", "jobs/s", flow.ended_per_second});
  add_all(figures, "flow: ", flow.cost);
  add_all(figures, "burst: ",
          CARILLON_TRY(measure_burst(
              round, {.groups = groups("-burst"), .jobs = flags.number("burst-jobs")})));
  add_all(figures, "cron: ",
          CARILLON_TRY(measure_fires(round, {.groups = groups("-fires"),
                                             .fires = flags.number("fires"),
                                             .seconds = flags.number("seconds")}))
              .figures);
  return {};
}

Result<Figures> run(Round& round) {
  Figures figures;
  const SteadyTime begin = round.clock.steady_now();
  const Backlog backlog =
      CARILLON_TRY(fill(round, round.flags.number("waiting"), round.flags.number("task-ids")));
  const SteadyTime filled = round.clock.steady_now();
  CARILLON_TRY(round.cluster.start_tracker());
  const SteadyTime ready = round.clock.steady_now();
  const auto since = [](SteadyTime from, SteadyTime to) {
    return seconds(std::chrono::duration_cast<Duration>(to - from));
  };
  figures.push_back({"filled, past the job tracker", "s", since(begin, filled)});
  figures.push_back({"from start to ready", "s", since(filled, ready)});
  figures.push_back({"jobtracker memory when ready, peak", "MiB", peak_memory_mib(round)});
  CARILLON_TRY(measure_all(round, figures));
  figures.push_back({"jobtracker memory in the end, peak", "MiB", peak_memory_mib(round)});
  CARILLON_TRY(round.cluster.stop());
  CARILLON_TRY(check_waiting(round, backlog));
  return figures;
}

}  // namespace

Workload backlog_workload() {
  Verb verb{.name = "backlog",
            .summary = "Start-up, memory and all other figures with millions of waiting jobs",
            .description =
                "Fills the store with jobs that wait, nearly all of them for another day and half "
                "of those in groups that are served, starts a job tracker on it, and then measures "
                "latency, drain, submit, flow, burst and cron as these workloads do. Fails unless "
                "all of them still wait in the end. Run it with several sizes to see what "
                "grows."};
  verb.options = worker_options();
  verb.options.push_back(number_option("waiting", "How many jobs wait.", "1000000", 100'000'000));
  verb.options.back().min = 0;
  verb.options.push_back({.name = "task-ids",
                          .kind = OptionKind::kNumber,
                          .placeholder = "PERCENT",
                          .help = "How many of those have a task id of their own.",
                          .fallback = "50",
                          .max = 100});
  verb.options.push_back(
      number_option("jobs", "Jobs of drain, and of submit in bulk.", "200000", 10'000'000));
  verb.options.push_back(
      number_option("singles", "Jobs that are submitted one by one.", "20000", 10'000'000));
  verb.options.push_back(number_option("flow-seconds", "How long flow is measured.", "10", 86'400));
  verb.options.push_back(number_option("burst-jobs", "Jobs of burst.", "10000", 1'000'000));
  verb.options.push_back(
      number_option("fires", "Schedules of cron, and so fires a second.", "1000", 1'000'000));
  verb.options.push_back(number_option("seconds", "How long cron is measured.", "20", 86'400));
  return {.verb = std::move(verb), .run = run, .starts_tracker = true};
}

}  // namespace carillon::bench
