#include "tasktracker/run/deferred_runs.h"

#include <algorithm>
#include <utility>

namespace carillon::tasktracker {

void DeferredRuns::add(std::vector<wire::HandedJob>&& jobs, SteadyTime begin_before) {
  const SteadyTime now = clock_.steady_now();
  std::erase_if(jobs, [&](wire::HandedJob& job) {
    if (job.wait <= Duration{}) return false;
    const SteadyTime at = now + job.wait;
    deferred_.emplace(at, Deferred{.job = std::move(job), .begin_before = begin_before});
    return true;
  });
  if (!jobs.empty()) runs_.add(std::move(jobs), begin_before);
}

// Jobs that wait for their time are never that old.
std::vector<wire::AttemptId> DeferredRuns::reclaim(std::optional<SteadyTime> older_than) {
  std::vector<wire::AttemptId> taken = runs_.reclaim(older_than);
  if (older_than) return taken;
  for (const auto& [at, deferred] : deferred_) taken.push_back(deferred.job.id);
  deferred_.clear();
  return taken;
}

Runs::Stopped DeferredRuns::stop(wire::AttemptId id, StopReason reason, const std::string& detail) {
  const auto found = std::find_if(deferred_.begin(), deferred_.end(),
                                  [&](const auto& one) { return one.second.job.id == id; });
  if (found == deferred_.end()) return runs_.stop(id, reason, detail);
  deferred_.erase(found);
  return {.was_waiting = true, .was_early = true};
}

std::optional<SteadyTime> DeferredRuns::keep_time(SteadyTime now) {
  while (!deferred_.empty() && deferred_.begin()->first <= now) {
    auto due = deferred_.extract(deferred_.begin());
    std::vector<wire::HandedJob> jobs;
    jobs.push_back(std::move(due.mapped().job));
    runs_.add(std::move(jobs), due.mapped().begin_before);
  }
  const std::optional<SteadyTime> next = runs_.keep_time(now);
  if (deferred_.empty()) return next;
  const SteadyTime due = deferred_.begin()->first;
  return next ? std::min(*next, due) : due;
}

std::vector<wire::AttemptId> DeferredRuns::waiting() const {
  std::vector<wire::AttemptId> ids = runs_.waiting();
  for (const auto& [at, deferred] : deferred_) ids.push_back(deferred.job.id);
  return ids;
}

}  // namespace carillon::tasktracker
