#include "tasktracker/run/run_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace carillon::tasktracker {

RunPool::RunPool(RunPoolConfig config, Runner& runner, const Clock& clock,
                 std::function<void()> wake)
    : config_(config), runner_(runner), clock_(clock), wake_(std::move(wake)) {}

RunPool::~RunPool() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    queue_.clear();
  }
  work_came_.notify_all();
  stop_all(StopReason::kShutdown, "the worker stopped", true);
  for (const auto& slot : slots_) {
    if (slot->thread) slot->thread->join();
  }
}

Status RunPool::start() {
  for (int i = 0; i < config_.threads; ++i) slots_.push_back(std::make_unique<Slot>(clock_));
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = *slots_[i];
    slot.thread =
        CARILLON_TRY(Thread::start("run-" + std::to_string(i), [this, &slot] { work_on(slot); }));
  }
  return {};
}

void RunPool::add(std::vector<wire::HandedJob>&& jobs, SteadyTime begin_before) {
  if (jobs.empty()) return;
  const SteadyTime now = clock_.steady_now();
  std::size_t to_wake = 0;
  {
    const MutexLock lock(mutex_);
    for (wire::HandedJob& job : jobs) {
      queue_.push_back({.job = std::move(job), .since = now, .begin_before = begin_before});
    }
    to_wake = std::min(idle_, queue_.size());
  }
  for (std::size_t i = 0; i < to_wake; ++i) work_came_.notify_one();
}

void RunPool::close() {
  const MutexLock lock(mutex_);
  closed_ = true;
}

std::vector<wire::AttemptId> RunPool::take_back(std::optional<SteadyTime> older_than) {
  std::vector<wire::AttemptId> taken;
  const MutexLock lock(mutex_);
  while (!queue_.empty() && (!older_than || queue_.front().since < *older_than)) {
    taken.push_back(queue_.front().job.id);
    queue_.pop_front();
  }
  return taken;
}

RunPool::Stopped RunPool::stop(wire::AttemptId id, StopReason reason, const std::string& detail) {
  std::stop_source source{std::nostopstate};
  {
    const MutexLock lock(mutex_);
    const auto waits = std::find_if(queue_.begin(), queue_.end(),
                                    [id](const Queued& queued) { return queued.job.id == id; });
    if (waits != queue_.end()) {
      queue_.erase(waits);
      return {.was_waiting = true};
    }
    const auto runs = std::find_if(slots_.begin(), slots_.end(), [id](const auto& slot) {
      return slot->running && slot->id == id;
    });
    if (runs == slots_.end()) return {};
    source = (*runs)->control.stop(reason, detail, false);
  }
  source.request_stop();
  return {.was_running = true};
}

void RunPool::stop_all(StopReason reason, const std::string& detail, bool at_once) {
  std::vector<std::stop_source> sources;
  {
    const MutexLock lock(mutex_);
    for (const auto& slot : slots_) {
      if (slot->running) sources.push_back(slot->control.stop(reason, detail, at_once));
    }
  }
  for (std::stop_source& source : sources) source.request_stop();
}

std::optional<SteadyTime> RunPool::keep_time(SteadyTime now) {
  std::optional<SteadyTime> next;
  std::vector<std::stop_source> sources;
  {
    const MutexLock lock(mutex_);
    if (time_limits_ == 0) return std::nullopt;
    for (const auto& slot : slots_) {
      if (!slot->running || !slot->stop_at) continue;
      if (*slot->stop_at <= now) {
        slot->stop_at.reset();
        --time_limits_;
        sources.push_back(slot->control.stop(StopReason::kTimedOut, {}, false));
      } else if (!next || *slot->stop_at < *next) {
        next = slot->stop_at;
      }
    }
  }
  for (std::stop_source& source : sources) source.request_stop();
  return next;
}

void RunPool::collect(PoolNews& news, bool running_output) {
  const MutexLock lock(mutex_);
  std::move(news_.output.begin(), news_.output.end(), std::back_inserter(news.output));
  news_.output.clear();
  if (news.ended.empty()) {
    news.ended.swap(news_.ended);
  } else {
    std::move(news_.ended.begin(), news_.ended.end(), std::back_inserter(news.ended));
    news_.ended.clear();
  }
  if (!running_output) return;
  for (const auto& slot : slots_) {
    if (slot->running) slot->control.output().take(news.output);
  }
}

std::vector<wire::AttemptId> RunPool::waiting() const {
  std::vector<wire::AttemptId> ids;
  const MutexLock lock(mutex_);
  ids.reserve(queue_.size());
  for (const Queued& queued : queue_) ids.push_back(queued.job.id);
  return ids;
}

// A thread's whole life: it leaves the result of one job and takes the next under one lock.
void RunPool::work_on(Slot& slot) {
  std::optional<Ended> ended;
  while (true) {
    Queued next;
    bool tell = false;
    {
      MutexLock lock(mutex_);
      if (ended) {
        if (slot.stop_at) --time_limits_;
        slot.running = false;
        slot.stop_at.reset();
        slot.control.output().take(news_.output);
        tell = news_.ended.empty();
        news_.ended.push_back(std::move(*ended));
        ended.reset();
      }
      if ((queue_.empty() || closed_) && !ending_) {
        if (tell) wake_();
        tell = false;
        ++idle_;
        while ((queue_.empty() || closed_) && !ending_) work_came_.wait(lock);
        --idle_;
      }
      if (ending_) {
        if (tell) wake_();
        return;
      }
      next = std::move(queue_.front());
      queue_.pop_front();
      slot.running = true;
      slot.id = next.job.id;
      slot.control.begin(next.job.id, config_.output_max, next.begin_before);
    }
    if (tell) wake_();
    ended = run_one(slot, std::move(next.job));
  }
}

void RunPool::set_time_limit(Slot& slot, Duration timeout) {
  {
    const MutexLock lock(mutex_);
    slot.stop_at = clock_.steady_now() + timeout;
    ++time_limits_;
  }
  wake_();
}

Ended RunPool::run_one(Slot& slot, wire::HandedJob&& job) {
  Ended ended;
  ended.result.id = job.id;
  ended.result.started_at = clock_.wall_now();
  const SteadyTime begin = clock_.steady_now();
  if (begin >= slot.control.begin_before()) {
    ended.came_late = true;  // This process stood still, or was too busy for its loop.
    return ended;
  }
  const Result<RunRequest> request = runner_.read(std::move(job));
  RunEnd end;
  if (!request.ok()) {
    end = {.outcome = wire::RunOutcome::kFailed,
           .message = "the job cannot be read: " + request.error().message};
  } else if (!runner_.allows(request.value())) {
    ended.was_refused = true;
    return ended;
  } else {
    if (request.value().timeout > Duration{0}) set_time_limit(slot, request.value().timeout);
    end = runner_.run(request.value(), slot.control);
  }
  ended.run_time = std::chrono::duration_cast<Duration>(clock_.steady_now() - begin);
  ended.result.ended_at = std::max(clock_.wall_now(), ended.result.started_at);
  // What it was told to stop for is worth saying.
  ended.came_late = end.came_late && slot.control.reason() == StopReason::kNone;
  ended.result.outcome = end.outcome;
  ended.result.exit_code = end.exit_code;
  ended.result.message = std::move(end.message);
  ended.result.later = end.later;
  return ended;
}

}  // namespace carillon::tasktracker
