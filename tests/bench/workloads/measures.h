#pragma once

#include "tests/bench/workload.h"

// Measurements that a workload of their own and `backlog` share.
namespace carillon::bench {

// From just before the worker processes are started to the moment when the job tracker says that
// the last end is committed; so the start of two processes is in it.
Result<Figures> measure_drain(Round& round, const std::vector<std::string>& groups,
                              std::int64_t jobs, bool task_ids);

struct SubmitPlan {
  std::vector<std::string> groups{};
  std::int64_t jobs = 200'000;    // in bulk
  std::int64_t singles = 20'000;  // one by one, in each of two ways
  std::int64_t callers = 50;      // who submit those at the same time
};
// How fast jobs are taken in. Then task trackers run them all, and it is checked that each ended
// once.
Result<Figures> measure_submit(Round& round, const SubmitPlan& plan);
// Task trackers run all of the jobs; an error unless each of them, and nothing else, ended once.
Status check_by_running(Round& round, JobClient& client, const std::vector<std::string>& groups,
                        const std::vector<JobId>& submitted);

struct BurstPlan {
  std::vector<std::string> groups{};
  std::int64_t jobs = 10'000;
  Duration lead = std::chrono::seconds{8};  // from the first submission until they are due
  bool push = false;                        // as in FirePlan
};
// Jobs that are all due at one instant.
Result<Figures> measure_burst(Round& round, const BurstPlan& plan);

struct LatencyPlan {
  std::string group{};
  std::int64_t jobs = 500;
  std::int64_t warm_up = 50;  // jobs before those that count
  Duration gap = std::chrono::milliseconds{5};
  int threads = 2;
};
// Single jobs on a job tracker that has nothing else to do.
Result<Figures> measure_latency(Round& round, const LatencyPlan& plan);

struct FirePlan {
  std::vector<std::string> groups{};
  std::int64_t fires = 1000;  // schedules, each of which fires once a second
  std::int64_t seconds = 30;
  bool spread = false;  // evenly over the second, not all at its start
  bool push = false;    // to executors of xxl-job that are there; else task trackers are started
};
// --fires, --seconds and --spread.
std::vector<Option> fire_options();
inline constexpr std::string_view kSchedulePrefix = "bench-";  // of task ids; then a number

struct FiresSeen {
  Figures figures{};
  // Of the fires that counted.
  WallTime from{};
  WallTime until{};
};
// How late the fires of a number of seconds were started. Leaves workers and schedules behind.
Result<FiresSeen> measure_fires(Round& round, const FirePlan& plan);

}  // namespace carillon::bench
