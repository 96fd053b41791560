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
  if (!has_failed) {
    WallTime& newest = succeeded_from_[worker->group];
    newest = std::max(newest, run.claimed_at);
    streaks_.erase(run.session);
    if (std::exchange(worker->is_isolated, false))
      log_.info("a task tracker is no longer isolated: a run succeeded", "node", worker->name);
    return;
  }
  const SteadyTime now = clock_.steady_now();
  std::erase_if(streaks_, [&](const auto& one) {
    return workers_.find(one.first) == nullptr && one.second.failed_at + kKept < now;
  });
  Streak& streak = streaks_[run.session];
  if (streak.tasks.empty()) streak.began_at = clock_.now();
  streak.failed_at = now;
  if (streak.is_isolated) return;
  const auto enough = static_cast<std::size_t>(config_.after);
  // More tasks need not be kept.
  if (streak.tasks.size() < enough) streak.tasks.insert(run.job.task_id);
  if (streak.tasks.size() < enough) return;
  // A success of its own would have ended the streak. A run that started earlier may have had a
  // resource that fails for all since then.
  const auto succeeded = succeeded_from_.find(worker->group);
  if (succeeded == succeeded_from_.end() || succeeded->second < streak.began_at) return;
  streak.is_isolated = true;
  streak.tried_at = now;
  worker->is_isolated = true;
  log_.warn(
      "a task tracker is isolated: runs of many tasks failed on it in a row, while others "
      "succeeded elsewhere",
      "node", worker->name, "tasks", enough);
}

bool Isolation::is_isolated(SessionId session) const {
  const auto streak = streaks_.find(session);
  return streak != streaks_.end() && streak->second.is_isolated;
}

void Isolation::isolate(Worker& worker) {
  Streak& streak = streaks_[worker.session];
  streak.is_isolated = true;
  streak.failed_at = streak.tried_at = clock_.steady_now();
  worker.is_isolated = true;
}

void Isolation::end(Worker& worker) {
  streaks_.erase(worker.session);
  worker.is_isolated = false;
}

bool Isolation::may_take(const Worker& worker) const {
  if (!worker.is_isolated || !has_another(worker)) return true;
  const Streak& streak = streaks_.at(worker.session);
  return clock_.steady_now() >= streak.tried_at + config_.rest &&
         executing_.has_fewer(worker.session, 1);
}

void Isolation::claimed_for(const Worker& worker) {
  if (worker.is_isolated) streaks_.at(worker.session).tried_at = clock_.steady_now();
}

// A draining task tracker requests no jobs. A busy one requests none either, but gets some when its
// runs end.
bool Isolation::takes_jobs(const Worker& worker) const {
  const bool is_busy = !executing_.has_fewer(worker.session, worker.threads) &&
                       clock_.steady_now() < worker.handed_at + config_.rest;
  return !worker.is_drained && (worker.window > 0 || is_busy);
}

bool Isolation::has_another(const Worker& worker) const {
  return std::any_of(workers_.all().begin(), workers_.all().end(), [&](const auto& one) {
    const Worker& other = *one.second;
    return other.group == worker.group && other.kinds == worker.kinds && !other.is_isolated &&
           takes_jobs(other);
  });
}

}  // namespace carillon::jobtracker
