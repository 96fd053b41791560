#include "jobtracker/dispatch/isolation.h"

#include <algorithm>
#include <utility>

#include "jobtracker/state/executors.h"

namespace carillon::jobtracker {

Isolation::Isolation(IsolationConfig config, Workers& workers, const ExecutingTable& executing,
                     SchedulingClock& clock, const Logger& log)
    : config_(config), workers_(workers), executing_(executing), clock_(clock), log_(log) {}

void Isolation::ran(const ExecutingJob& run, bool has_failed) {
  if (config_.after == 0 || is_push_session(run.session)) return;
  Worker* worker = workers_.find(run.session);
  if (worker == nullptr) return;
  const SteadyTime now = clock_.steady_now();
  if (!has_failed) {
    succeeded_at_[worker->group] = now;
    streaks_.erase(run.session);
    if (std::exchange(worker->is_isolated, false))
      log_.info("a task tracker is handed jobs again: a run has succeeded", "node", worker->name);
    return;
  }
  // Of those that are gone.
  std::erase_if(streaks_, [this](const auto& one) { return workers_.find(one.first) == nullptr; });
  Streak& streak = streaks_[run.session];
  if (streak.tasks.empty()) streak.began_at = now;
  streak.failed_at = now;
  if (worker->is_isolated) return;
  const auto enough = static_cast<std::size_t>(config_.after);
  // No more than that: they would be kept for nothing.
  if (streak.tasks.size() < enough) streak.tasks.insert(run.job.task_id);
  if (streak.tasks.size() < enough) return;
  // A success of its own would have ended the streak.
  const auto succeeded = succeeded_at_.find(worker->group);
  if (succeeded == succeeded_at_.end() || succeeded->second < streak.began_at) return;
  worker->is_isolated = true;
  log_.warn(
      "a task tracker is isolated: runs of so many tasks failed on it in a row, and others "
      "succeeded elsewhere",
      "node", worker->name, "tasks", enough);
}

bool Isolation::may_take(const Worker& worker) const {
  if (!worker.is_isolated || !has_another(worker)) return true;
  const bool has_rested =
      clock_.steady_now() >= streaks_.at(worker.session).failed_at + config_.rest;
  return has_rested && executing_.has_fewer(worker.session, 1);
}

// That is handed jobs, and accepts what this one does.
bool Isolation::has_another(const Worker& worker) const {
  return std::any_of(workers_.all().begin(), workers_.all().end(), [&](const auto& one) {
    const Worker& other = *one.second;
    return other.group == worker.group && other.kinds == worker.kinds && !other.is_isolated &&
           other.has_asked();
  });
}

}  // namespace carillon::jobtracker
