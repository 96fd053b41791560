#include "tasktracker/run/run_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace carillon::tasktracker {
namespace {

// A handler that checks its stop token is not given up, even with a very short grace time.
constexpr Duration kGraceMin = std::chrono::milliseconds{100};

}  // namespace

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
  await_runs();
  for (const Place& place : places_) {
    bool is_given_up = false;
    {
      const MutexLock lock(place.slot->mutex);
      is_given_up = place.slot->call != nullptr;
      place.slot->is_given_up = is_given_up;
    }
    if (is_given_up) {
      place.slot->control.output().close();
      given_up_.push_back({.slot = place.slot, .thread = nullptr});
      place.thread->detach();
    } else {
      place.thread->join();
    }
  }
  join_returned();
  for (const Place& place : given_up_) {
    if (place.thread) place.thread->detach();
  }
  if (given_up_.empty()) return;
  log_.warn("handlers have not stopped; they continue without a worker", "handlers",
            given_up_.size());
}

Status RunPool::start() {
  for (std::size_t i = 0; i < static_cast<std::size_t>(config_.threads); ++i) {
    places_.push_back(CARILLON_TRY(start_thread(i)));
  }
  return {};
}

Result<RunPool::Place> RunPool::start_thread(std::size_t number) {
  auto slot = std::make_shared<Slot>(clock_);
  auto thread = CARILLON_TRY(
      Thread::start("run-" + std::to_string(number), [this, slot] { work_on(*slot); }));
  return Place{.slot = std::move(slot), .thread = std::move(thread)};
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

std::vector<wire::AttemptId> RunPool::reclaim(std::optional<SteadyTime> older_than) {
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
    const auto runs = std::find_if(places_.begin(), places_.end(), [id](const Place& place) {
      return place.slot->running && place.slot->id == id;
    });
    if (runs == places_.end()) return {};
    source = tell(*runs->slot, reason, detail, false);
  }
  source.request_stop();
  return {.was_running = true};
}

void RunPool::stop_all(StopReason reason, const std::string& detail, bool at_once) {
  std::vector<std::stop_source> sources;
  {
    const MutexLock lock(mutex_);
    for (const Place& place : places_) {
      if (place.slot->running) sources.push_back(tell(*place.slot, reason, detail, at_once));
    }
  }
  for (std::stop_source& source : sources) source.request_stop();
}

// Requires: mutex_ is held.
std::stop_source RunPool::tell(Slot& slot, StopReason reason, const std::string& detail,
                               bool at_once) {
  if (slot.control.reason() == StopReason::kNone) {
    if (!slot.look_at) ++timed_;
    slot.look_at = clock_.steady_now() + std::max(config_.kill_grace, kGraceMin);
  }
  return slot.control.stop(reason, detail, at_once);
}

std::optional<SteadyTime> RunPool::keep_time(SteadyTime now) {
  join_returned();
  std::optional<SteadyTime> next;
  std::vector<std::stop_source> sources;
  std::vector<Hanging> hanging;
  bool has_news = false;
  {
    const MutexLock lock(mutex_);
    if (timed_ == 0) return std::nullopt;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      Slot& slot = *places_[i].slot;
      if (!slot.running || !slot.look_at) continue;
      if (*slot.look_at <= now) {
        if (slot.control.reason() == StopReason::kNone) {
          sources.push_back(tell(slot, StopReason::kTimedOut, {}, false));
        } else if (auto found = give_up(i)) {
          hanging.push_back(std::move(*found));
        }
      }
      if (slot.look_at && (!next || *slot.look_at < *next)) next = slot.look_at;
    }
    has_news = !news_.ended.empty();
  }
  for (std::stop_source& source : sources) source.request_stop();
  for (const Hanging& one : hanging) say(one);
  if (!hanging.empty() && has_news) wake_();
  return next;
}

// A run that has not stopped within the grace time. A handler's run ends without it, if possible; a
// process is killed by its own thread. Returns data for the log. Requires: mutex_ is held.
std::optional<RunPool::Hanging> RunPool::give_up(std::size_t number) {
  Slot& slot = *places_[number].slot;
  slot.look_at = clock_.steady_now() + std::max(config_.kill_grace, kGraceMin);  // unless it ends
  const MutexLock lock(slot.mutex);
  if (slot.call == nullptr) return std::nullopt;
  const RunRequest& request = slot.call->request;
  Hanging hanging{.task_id = request.job.task_id,
                  .job_id = request.job.job_id.value,
                  .handler = request.run.handler};
  Result<Place> fresh{Place{}};
  if (given_up_.size() >= places_.size()) {
    hanging.why_kept = "as many threads as the worker has are already lost";
  } else if (fresh = start_thread(number); !fresh.ok()) {
    hanging.why_kept = fresh.error().message;
  }
  if (!hanging.why_kept.empty()) {
    if (std::exchange(slot.is_said, true)) return std::nullopt;
    return hanging;
  }
  RunEnd end = runner_.end_without(request, slot.control);
  slot.control.output().close();
  slot.control.output().take(news_.output);
  news_.ended.push_back(
      {.result = {.id = slot.id,
                  .outcome = end.outcome,
                  .message = std::move(end.message),
                  .started_at = slot.call->started_at,
                  .ended_at = std::max(clock_.wall_now(), slot.call->started_at),
                  .later = end.later},
       .run_time = std::chrono::duration_cast<Duration>(clock_.steady_now() - slot.call->begin)});
  slot.call = nullptr;
  slot.is_given_up = true;
  slot.running = false;
  slot.look_at.reset();
  --timed_;
  given_up_.push_back(std::exchange(places_[number], std::move(fresh).value()));
  return hanging;
}

void RunPool::say(const Hanging& hanging) const {
  if (hanging.why_kept.empty()) {
    log_.warn("a handler does not stop; its run has ended without it and its thread is lost",
              "task", hanging.task_id, "job", hanging.job_id, "handler", hanging.handler,
              "lost_threads", given_up_.size());
  } else {
    log_.warn("a handler does not stop; its run continues", "task", hanging.task_id, "job",
              hanging.job_id, "handler", hanging.handler, "why", hanging.why_kept);
  }
}

// Their threads do nothing any more, so joining is fast.
void RunPool::join_returned() {
  std::erase_if(given_up_, [this](const Place& place) {
    {
      const MutexLock lock(place.slot->mutex);
      if (!place.slot->has_returned) return false;
    }
    log_.info("a handler of an ended run has returned", "job", place.slot->id.job_id.value);
    return true;
  });
}

// Until no run continues, or the grace time of the stop requests has passed.
void RunPool::await_runs() {
  MutexLock lock(mutex_);
  while (true) {
    std::optional<SteadyTime> until;
    for (const Place& place : places_) {
      if (place.slot->running) until = std::max(until, place.slot->look_at);
    }
    if (!until) return;
    const auto left = std::chrono::ceil<Duration>(*until - clock_.steady_now());
    if (left <= Duration{0}) return;
    (void)run_ended_.wait_for(lock, left);  // The loop checks again.
  }
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
  for (const Place& place : places_) {
    if (place.slot->running) place.slot->control.output().take(news.output);
  }
}

std::vector<wire::AttemptId> RunPool::waiting() const {
  std::vector<wire::AttemptId> ids;
  const MutexLock lock(mutex_);
  ids.reserve(queue_.size());
  for (const Queued& queued : queue_) ids.push_back(queued.job.id);
  return ids;
}

// The code of a thread: it stores the result of one job and takes the next under one lock. After it
// was given up it uses only its slot, because the pool may be destroyed.
void RunPool::work_on(Slot& slot) {
  std::optional<Ended> ended;
  while (true) {
    Queued next;
    bool tell = false;
    {
      MutexLock lock(mutex_);
      if (ended) {
        if (slot.look_at) --timed_;
        slot.running = false;
        slot.look_at.reset();
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
        run_ended_.notify_all();
        if (tell) wake_();
        return;
      }
      next = std::move(queue_.front());
      queue_.pop_front();
      slot.running = true;
      slot.is_said = false;
      slot.id = next.job.id;
      slot.control.begin(next.job.id, config_.output_max, next.begin_before);
    }
    if (tell) wake_();
    ended = run_one(slot, std::move(next.job));
    if (!ended) return;
  }
}

void RunPool::set_time_limit(Slot& slot, Duration timeout) {
  {
    const MutexLock lock(mutex_);
    if (slot.look_at) return;  // It has a stop request.
    slot.look_at = clock_.steady_now() + timeout;
    ++timed_;
  }
  wake_();
}

// None: its handler was given up.
std::optional<Ended> RunPool::run_one(Slot& slot, wire::HandedJob&& job) {
  Ended ended;
  ended.result.id = job.id;
  ended.result.started_at = clock_.wall_now();
  const SteadyTime begin = clock_.steady_now();
  if (begin >= slot.control.begin_before()) {
    ended.came_late = true;  // This process stalled, or was too busy for its loop.
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
    const Call call{request.value(), ended.result.started_at, begin};
    if (request.value().run.kind == RunKind::kHandler) {
      const MutexLock lock(slot.mutex);
      slot.call = &call;
    }
    end = runner_.run(request.value(), slot.control);
    const MutexLock lock(slot.mutex);
    slot.call = nullptr;
    if (slot.is_given_up) {
      slot.has_returned = true;
      return std::nullopt;
    }
  }
  ended.run_time = std::chrono::duration_cast<Duration>(clock_.steady_now() - begin);
  ended.result.ended_at = std::max(clock_.wall_now(), ended.result.started_at);
  // A stop reason must be reported.
  ended.came_late = end.came_late && slot.control.reason() == StopReason::kNone;
  ended.result.outcome = end.outcome;
  ended.result.exit_code = end.exit_code;
  ended.result.message = std::move(end.message);
  ended.result.later = end.later;
  return ended;
}

}  // namespace carillon::tasktracker
