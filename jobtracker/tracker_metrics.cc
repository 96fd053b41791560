#include "jobtracker/tracker_metrics.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "shared/job/schedule.h"

namespace carillon::jobtracker {
namespace {

constexpr std::string_view kPrefix = "carillon_";

// What the numbers of `jobclient stats` are. docs/reference/metrics.md says more.
constexpr std::pair<std::string_view, std::string_view> kStatHelp[] = {
    {"jobs_submitted_total", "Accepted jobs"},
    {"jobs_claimed_total", "Jobs moved from waiting to executing"},
    {"jobs_handed_out_total", "Jobs sent to task trackers"},
    {"attempts_ended_total", "Attempts that ended, with any result"},
    {"late_reports_total", "Reports for attempts that had ended already"},
    {"jobs_quarantined_total", "Jobs that entered quarantine"},
    {"jobs_in_memory", "Waiting jobs in memory; the tables may hold more"},
    {"jobs_executing", "Jobs that are handed out"},
    {"definitions", "Stored schedules"},
    {"groups", "Known node groups"},
    {"partitions", "Owned ones of the 64 slots that node groups hash to"},
    {"workers", "Registered task trackers"},
    {"workers_lost_total", "Task trackers whose lease expired"},
    {"workers_isolated", "Isolated task trackers"},
    {"workers_overloaded", "Task trackers that take no jobs because their machine is busy"},
    {"executor_calls_total", "Calls of executors that start a run"},
    {"executor_runs_lost_total",
     "Runs that their executor no longer knew, or whose executor was silent for too long"},
    {"executor_late_results_total", "Results of executors without effect"},
    {"executors", "Executors in service"},
    {"executors_unreachable", "Executors that do not answer"},
    {"feedback_taken_total", "Results that listeners acknowledged"},
    {"feedback_waiting", "Results not yet acknowledged by listeners"},
    {"feedback_dropped_total", "Results dropped because too many were waiting, or one for 30 days"},
    {"alarms_sent_total", "Delivered alarms"},
    {"alarms_waiting", "Alarms not yet delivered"},
    {"alarm_tries_failed_total", "Failed deliveries of alarms, which are retried"},
    {"alarms_dropped_total",
     "Alarms dropped because too many were waiting, one waited three days, or there is no mail "
     "server"},
    {"bad_frames_total", "Frames that were refused as malformed"},
    {"foreign_frames_total", "Refused frames about the session or a run of another client"},
    {"requests_slowed_down_total", "Requests answered with \"slow down\""},
    {"commits_total", "Committed transactions"},
    {"operations_committed_total", "Row moves in committed transactions"},
    {"operations_pending", "Row moves that wait for a commit"},
    {"standing_by", "1 while the job tracker waits for older versions to end"},
    {"store_away", "1 while the store does not answer"},
    {"store_full", "1 while the store has no room"},
};

// The states in which an attempt can end.
constexpr std::array kAttemptEnds = {LogState::kSucceeded, LogState::kFailed,   LogState::kTimedOut,
                                     LogState::kKilled,    LogState::kLost,     LogState::kLater,
                                     LogState::kDiscarded, LogState::kCancelled};

Metric stat_metric(const Stat& stat) {
  const auto& [name, number] = stat;
  const auto found = std::find_if(std::begin(kStatHelp), std::end(kStatHelp),
                                  [&](const auto& one) { return one.first == name; });
  const std::string help{found == std::end(kStatHelp) ? std::string_view{} : found->second};
  return one_number(std::string{kPrefix} + name, help,
                    name.ends_with("_total") ? MetricType::kCounter : MetricType::kGauge,
                    static_cast<double>(number));
}

// Makes the metrics of all groups: `add` adds the samples of one group.
template <class Add>
Metric group_metric(const TrackerMetrics& numbers, std::string_view name, std::string_view help,
                    MetricType type, Add add) {
  Metric metric{.name = std::string{kPrefix} + "group_" + std::string{name},
                .help = std::string{help},
                .type = type};
  for (const TrackerMetrics::OfGroup& group : numbers.groups) add(metric.samples, group);
  return metric;
}

Sample labelled(const TrackerMetrics::OfGroup& group, double value) {
  return {.labels = {{"group", group.name}}, .value = value};
}

Metric group_gauge(const TrackerMetrics& numbers, std::string_view name, std::string_view help,
                   std::int64_t GroupLevels::*level) {
  return group_metric(
      numbers, name, help, MetricType::kGauge,
      [&](std::vector<Sample>& samples, const TrackerMetrics::OfGroup& group) {
        samples.push_back(labelled(group, static_cast<double>(group.levels.*level)));
      });
}

Metric group_times(const TrackerMetrics& numbers, std::string_view name, std::string_view help,
                   TimeHistogram GroupCounts::*times) {
  return group_metric(numbers, name, help, MetricType::kHistogram,
                      [&](std::vector<Sample>& samples, const TrackerMetrics::OfGroup& group) {
                        Sample sample = labelled(group, 0);
                        sample.histogram = (group.counts.*times).values(kMicroseconds);
                        samples.push_back(std::move(sample));
                      });
}

void add_submitted(std::vector<Sample>& samples, const TrackerMetrics::OfGroup& group) {
  for (std::size_t kind = 0; kind < group.counts.submitted.size(); ++kind) {
    Sample sample = labelled(group, static_cast<double>(group.counts.submitted[kind]));
    sample.labels.emplace_back("kind", word_of(static_cast<ScheduleKind>(kind)));
    samples.push_back(std::move(sample));
  }
}

void add_ended(std::vector<Sample>& samples, const TrackerMetrics::OfGroup& group) {
  for (const LogState state : kAttemptEnds) {
    const std::int64_t ended = group.counts.ended[static_cast<std::size_t>(state)];
    Sample sample = labelled(group, static_cast<double>(ended));
    sample.labels.emplace_back("outcome", to_string(state));
    samples.push_back(std::move(sample));
  }
}

void add_started(std::vector<Sample>& samples, const TrackerMetrics::OfGroup& group) {
  samples.push_back(labelled(group, static_cast<double>(group.counts.started)));
}

Metric histogram_metric(std::string_view name, std::string_view help, HistogramValues values) {
  return {.name = std::string{kPrefix} + std::string{name},
          .help = std::string{help},
          .type = MetricType::kHistogram,
          .samples = {Sample{.histogram = std::move(values)}}};
}

}  // namespace

std::vector<Metric> metrics_of(const TrackerMetrics& numbers) {
  std::vector<Metric> all;
  for (const Stat& stat : numbers.stats) all.push_back(stat_metric(stat));
  all.push_back(histogram_metric("commit_seconds", "Time from sending a transaction to its result",
                                 numbers.commit_times.values(kMicroseconds)));
  all.push_back(histogram_metric("claim_batch_jobs", "Jobs that were claimed in one transaction",
                                 numbers.claim_batches.values(kPieces)));
  all.push_back(group_metric(numbers, "jobs_submitted_total", "Accepted jobs by kind of schedule",
                             MetricType::kCounter, add_submitted));
  all.push_back(group_metric(numbers, "attempts_started_total", "Attempts that were handed out",
                             MetricType::kCounter, add_started));
  all.push_back(group_metric(numbers, "attempts_ended_total", "Attempts that ended by result",
                             MetricType::kCounter, add_ended));
  all.push_back(group_times(numbers, "queue_wait_seconds", "Time from due to handed out",
                            &GroupCounts::queue_wait));
  all.push_back(
      group_times(numbers, "lateness_seconds", "Time from due to started", &GroupCounts::lateness));
  all.push_back(
      group_times(numbers, "run_seconds", "Run time of attempts", &GroupCounts::run_time));
  all.push_back(group_gauge(numbers, "jobs_due", "Jobs that would run now if a thread were free",
                            &GroupLevels::due));
  all.push_back(
      group_gauge(numbers, "jobs_executing", "Jobs that are handed out", &GroupLevels::executing));
  all.push_back(group_gauge(numbers, "workers", "Task trackers, or executors in service",
                            &GroupLevels::workers));
  all.push_back(
      group_gauge(numbers, "threads", "Threads of the task trackers", &GroupLevels::threads));
  return all;
}

}  // namespace carillon::jobtracker
