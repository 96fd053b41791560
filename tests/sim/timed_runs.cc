#include "tests/sim/timed_runs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "shared/wire/codec.h"

namespace carillon::sim {

using tasktracker::StopReason;

namespace {

// Between being told to stop and having ended.
constexpr Duration kStops = std::chrono::milliseconds{20};

}  // namespace

TimedRuns::~TimedRuns() {
  for (const auto& [id, run] : running_) watch_.on_end(id, std::nullopt);
}

void TimedRuns::add(std::vector<wire::HandedJob>&& jobs, SteadyTime begin_before) {
  for (wire::HandedJob& job : jobs) {
    queue_.push_back(
        {.job = std::move(job), .since = process_.steady_now(), .begin_before = begin_before});
  }
  begin_more();
  if (!queue_.empty()) watch_.on_queue();
}

void TimedRuns::begin_more() {
  while (!closed_ && !queue_.empty() && running_.size() < static_cast<std::size_t>(threads_)) {
    const Queued next = std::move(queue_.front());
    queue_.pop_front();
    if (process_.steady_now() < next.begin_before) {
      begin(next.job);
    } else {
      news_.ended.push_back({.came_late = true, .result = {.id = next.job.id}});
    }
  }
}

void TimedRuns::begin(const wire::HandedJob& job) {
  const auto spec = wire::decode_spec(job.spec);
  if (!spec.ok()) {
    news_.ended.push_back(
        {.result = {
             .id = job.id, .outcome = wire::RunOutcome::kFailed, .message = spec.error().message}});
    return;
  }
  if (handlers_only_ && spec.value().run.kind != RunKind::kHandler) {
    news_.ended.push_back({.was_refused = true, .result = {.id = job.id}});
    return;
  }
  Running run{.plan = watch_.on_start(job, spec.value()),
              .began = process_.steady_now(),
              .started_at = process_.wall_now()};
  if (spec.value().timeout > Duration{}) run.stop_at = run.began + spec.value().timeout;
  run.timer = process_.post_at(run.began + run.plan.time,
                               [this, id = job.id] { end(id, running_.at(id).plan.outcome, {}); });
  running_.emplace(job.id, run);
}

void TimedRuns::end(const wire::AttemptId& id, wire::RunOutcome outcome,
                    const std::string& message) {
  if (running_.size() == static_cast<std::size_t>(threads_)) full_at_ = process_.steady_now();
  const auto found = running_.find(id);
  const Running& run = found->second;
  for (int i = 1; i <= run.plan.chunks; ++i) {
    news_.output.push_back({.id = id, .sequence = i, .at = process_.wall_now(), .bytes = "line\n"});
  }
  news_.ended.push_back(
      {.result = {.id = id,
                  .outcome = outcome,
                  .message = message,
                  .started_at = run.started_at,
                  .ended_at = std::max(run.started_at, process_.wall_now()),
                  .later = run.plan.later},
       .run_time = std::chrono::duration_cast<Duration>(process_.steady_now() - run.began)});
  running_.erase(found);
  watch_.on_end(id, outcome);
  begin_more();
}

void TimedRuns::stop_run(const wire::AttemptId& id, wire::RunOutcome outcome,
                         const std::string& message) {
  Running& run = running_.at(id);
  run.stop_at.reset();
  process_.cancel(run.timer);
  run.timer = process_.post_at(process_.steady_now() + kStops,
                               [this, id, outcome, message] { end(id, outcome, message); });
}

std::vector<wire::AttemptId> TimedRuns::reclaim(std::optional<SteadyTime> older_than) {
  std::vector<wire::AttemptId> taken;
  while (!queue_.empty() && (!older_than || queue_.front().since < *older_than)) {
    taken.push_back(queue_.front().job.id);
    queue_.pop_front();
  }
  return taken;
}

TimedRuns::Stopped TimedRuns::stop(wire::AttemptId id, StopReason, const std::string& detail) {
  const auto waits = std::find_if(queue_.begin(), queue_.end(),
                                  [&](const Queued& one) { return one.job.id == id; });
  if (waits != queue_.end()) {
    queue_.erase(waits);
    return {.was_waiting = true};
  }
  if (!running_.contains(id)) return {};
  stop_run(id, wire::RunOutcome::kKilled, detail);
  return {.was_running = true};
}

void TimedRuns::stop_all(StopReason, const std::string& detail, bool) {
  std::vector<wire::AttemptId> all;
  for (const auto& [id, run] : running_) all.push_back(id);
  for (const wire::AttemptId& id : all) stop_run(id, wire::RunOutcome::kKilled, detail);
}

std::optional<SteadyTime> TimedRuns::keep_time(SteadyTime now) {
  std::optional<SteadyTime> next;
  std::vector<wire::AttemptId> late;
  for (const auto& [id, run] : running_) {
    if (!run.stop_at) continue;
    if (*run.stop_at <= now) {
      late.push_back(id);
    } else if (!next || *run.stop_at < *next) {
      next = run.stop_at;
    }
  }
  for (const wire::AttemptId& id : late) stop_run(id, wire::RunOutcome::kTimedOut, "timed out");
  return next;
}

void TimedRuns::collect(tasktracker::PoolNews& news, bool) {
  std::move(news_.output.begin(), news_.output.end(), std::back_inserter(news.output));
  std::move(news_.ended.begin(), news_.ended.end(), std::back_inserter(news.ended));
  news_.output.clear();
  news_.ended.clear();
}

std::vector<wire::AttemptId> TimedRuns::waiting() const {
  std::vector<wire::AttemptId> ids;
  for (const Queued& queued : queue_) ids.push_back(queued.job.id);
  return ids;
}

std::vector<wire::AttemptId> TimedRuns::unfinished_ids() const {
  std::vector<wire::AttemptId> ids = waiting();
  for (const auto& [id, run] : running_) ids.push_back(id);
  return ids;
}

}  // namespace carillon::sim
