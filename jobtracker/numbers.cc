// What a job tracker counts and measures.
#include <algorithm>
#include <utility>

#include "jobtracker/job_tracker.h"

namespace carillon::jobtracker {

std::vector<Stat> JobTracker::stats() const {
  const auto executor_groups = static_cast<std::size_t>(
      std::count_if(workers_.all().begin(), workers_.all().end(),
                    [](const auto& worker) { return is_push_session(worker.first); }));
  const auto isolated = static_cast<std::int64_t>(
      std::count_if(workers_.all().begin(), workers_.all().end(),
                    [](const auto& worker) { return worker.second->is_isolated; }));
  const auto overloaded = static_cast<std::int64_t>(
      std::count_if(workers_.all().begin(), workers_.all().end(),
                    [](const auto& worker) { return !worker.second->overload.empty(); }));
  std::int64_t executors = 0;
  for (const GroupId group : executors_.groups()) {
    if (ownership_.has(group))
      executors += static_cast<std::int64_t>(executors_.addresses(group).size());
  }
  return {
      {"jobs_submitted_total", submit_.submitted()},
      {"jobs_claimed_total", dispatcher_.claims()},
      {"jobs_handed_out_total", dispatcher_.handed_out()},
      {"attempts_ended_total", completion_.ended()},
      {"late_reports_total", completion_.late_reports()},
      {"workers_lost_total", recovery_.workers_lost()},
      {"jobs_quarantined_total", completion_.quarantined() + recurrence_.quarantined()},
      {"feedback_taken_total", feedback_.taken()},
      {"feedback_dropped_total", feedback_.dropped()},
      {"feedback_waiting", feedback_.waiting()},
      {"alarms_sent_total", alarms_.sent()},
      {"alarm_tries_failed_total", alarms_.failed()},
      {"alarms_dropped_total", alarms_.dropped()},
      {"alarms_waiting", alarms_.waiting()},
      {"bad_frames_total", bad_frames_},
      {"foreign_frames_total", foreign_frames_},
      {"requests_slowed_down_total", batcher_.slowed_down()},
      {"commits_total", batcher_.commits()},
      {"operations_committed_total", batcher_.committed_operations()},
      {"operations_pending", static_cast<std::int64_t>(batcher_.pending_rows())},
      {"jobs_in_memory", static_cast<std::int64_t>(dispatcher_.jobs_in_memory())},
      {"jobs_executing", static_cast<std::int64_t>(executing_.size())},
      {"definitions", static_cast<std::int64_t>(catalog_.definitions().size())},
      {"groups", static_cast<std::int64_t>(catalog_.groups().size())},
      {"partitions", static_cast<std::int64_t>(ownership_.owned().count())},
      {"workers", static_cast<std::int64_t>(workers_.all().size() - executor_groups)},
      {"workers_isolated", isolated},
      {"workers_overloaded", overloaded},
      {"executors", executors},
      {"executors_unreachable", static_cast<std::int64_t>(executor_health_.unreachable().size())},
      {"executor_calls_total", pusher_.calls()},
      {"executor_runs_lost_total", pusher_.runs_lost()},
      {"executor_late_results_total", pusher_.late_results()},
      {"store_away", store_is_away_ ? 1 : 0},
      {"store_full", batcher_.lacks_room() ? 1 : 0}};
}

TrackerMetrics JobTracker::metrics() const {
  TrackerMetrics all{.stats = stats(),
                     .commit_times = batcher_.commit_times(),
                     .claim_batches = batcher_.claim_batches()};
  TrackerMetrics::OfGroup others{.name = kOtherGroups};
  bool has_others = false;
  std::map<GroupId, std::size_t> places;  // of whole groups
  const auto of = [&](const Group& group) -> TrackerMetrics::OfGroup& {
    const auto found = places.find(group.id);
    if (found != places.end()) return all.groups[found->second];
    if (places.size() < kNamedGroupsMax && group.name != kOtherGroups) {
      places.emplace(group.id, all.groups.size());
      return all.groups.emplace_back(TrackerMetrics::OfGroup{.name = group.name});
    }
    has_others = true;
    return others;
  };
  for (const auto& [part, counts, minute] : metrics_.all()) {
    if (const Group* group = catalog_.whole_of(part)) of(*group).counts.add(counts);
  }
  for (const auto& [id, levels] : figures_.levels()) {
    if (const Group* group = catalog_.group(id)) of(*group).levels.add(levels);
  }
  if (has_others) all.groups.push_back(std::move(others));
  return all;
}

Sizes JobTracker::sizes() const {
  Sizes all{{"output_under_way", output_under_way_.size()},
            {"leaving", leaving_.size()},
            {"groups_to_come", groups_to_come_.size()},
            {"searches", searches_.size()},
            {"unwell_executors", executor_health_.size()},
            {"quiet_executors", executor_silence_.size()}};
  add_sizes(all, "catalog", catalog_.sizes());
  add_sizes(all, "executing", executing_.sizes());
  add_sizes(all, "executors", executors_.sizes());
  add_sizes(all, "workers", workers_.sizes());
  add_sizes(all, "batcher", batcher_.sizes());
  add_sizes(all, "feedback", feedback_.sizes());
  add_sizes(all, "alarms", alarms_.sizes());
  add_sizes(all, "figures", figures_.sizes());
  add_sizes(all, "recurrence", recurrence_.sizes());
  add_sizes(all, "completion", completion_.sizes());
  add_sizes(all, "dispatcher", dispatcher_.sizes());
  add_sizes(all, "recovery", recovery_.sizes());
  add_sizes(all, "management", management_.sizes());
  add_sizes(all, "run_logs", run_logs_.sizes());
  add_sizes(all, "pusher", pusher_.sizes());
  add_sizes(all, "registry", registry_.sizes());
  add_sizes(all, "new_groups", new_groups_.sizes());
  add_sizes(all, "access", access_.sizes());
  add_sizes(all, "bulk", bulk_.sizes());
  add_sizes(all, "submit", submit_.sizes());
  add_sizes(all, "stops", stops_.sizes());
  add_sizes(all, "query", query_.sizes());
  return all;
}

}  // namespace carillon::jobtracker
