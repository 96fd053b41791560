#include "tasktracker/executor/job_threads.h"

#include <algorithm>
#include <utility>

#include "shared/base/assert.h"

namespace carillon::tasktracker {

using wire::xxl::BlockStrategy;
using wire::xxl::Reply;
using wire::xxl::RunCall;
using wire::xxl::RunResult;

namespace {

Reply refusal(std::string message) {
  return {.code = wire::xxl::kFailure, .message = std::move(message)};
}

constexpr const char* kChanged =
    "change jobhandler or glue type, and terminate the old job thread.";
constexpr const char* kCovered = "block strategy effect：Cover Early";
constexpr const char* kIdle = "excutor idle times over limit.";

}  // namespace

struct JobThreads::JobThread {
  JobThread(std::int64_t its_job, std::uint64_t its_number, std::unique_ptr<JobWork> its_work,
            const Clock& clock)
      : job_id(its_job), number(its_number), work(std::move(its_work)), control(clock) {}

  bool is_busy() const { return running.has_value() || !triggers.empty(); }

  const std::int64_t job_id;
  const std::uint64_t number;  // later threads have higher numbers
  std::unique_ptr<JobWork> work;
  RunControl control;
  std::unique_ptr<RunLog> log{};  // of the current run
  // Guarded by the shared mutex.
  Condition changed{};
  Triggers triggers{};
  std::optional<std::int64_t> running{};  // the log id
  std::optional<SteadyTime> stop_at{};
  SteadyTime idle_since{};               // set while it is idle
  std::optional<std::string> stopped{};  // the reason
  bool ended = false;
  std::unique_ptr<Thread> thread{};  // last: its end uses the other members
};

JobThreads::JobThreads(JobThreadsConfig config, const JobWorks& works, const LogFolder& logs,
                       const Clock& clock, Callbacks callbacks)
    : config_(config),
      works_(works),
      logs_(logs),
      clock_(clock),
      callbacks_(std::move(callbacks)) {}

JobThreads::~JobThreads() {
  close();
  stop_all("the executor stopped", true);
  std::vector<std::unique_ptr<JobThread>> leaving;
  {
    const MutexLock lock(mutex_);
    leaving.swap(leaving_);
  }
  for (const auto& thread : leaving) thread->thread->join();
}

Reply JobThreads::run(RunCall call) {
  std::optional<std::stop_source> stopping;
  Reply reply;
  {
    const MutexLock lock(mutex_);
    reap();
    if (closed_) return refusal("the executor is stopping");
    if (log_ids_.contains(call.log_id)) {
      return refusal("repeate trigger job, logId:" + std::to_string(call.log_id));
    }
    if (waiting_ >= config_.waiting_max) {
      return refusal("the executor has " + std::to_string(waiting_) +
                     " waiting triggers, the maximum (slow down)");
    }
    const auto found = threads_.find(call.job_id);
    JobThread* const current = found == threads_.end() ? nullptr : found->second.get();
    const char* why = nullptr;
    if (current != nullptr && !current->work->is_for(call)) {
      why = kChanged;
    } else if (current != nullptr && current->is_busy()) {
      if (call.block == BlockStrategy::kDiscardLater) {
        return refusal("block strategy effect：Discard Later");
      }
      if (call.block == BlockStrategy::kCoverEarly) why = kCovered;
    }
    if (current != nullptr && why == nullptr) return add(*current, std::move(call));

    // Before the old one is stopped: a job that cannot run must not end a running one.
    if (const Status room = check_room(); !room.ok()) return refusal(room.error().message);
    Result<std::unique_ptr<JobWork>> work = works_.make(call);
    if (!work.ok()) return refusal(work.error().message);
    if (why != nullptr) stopping = retire(call.job_id, StopReason::kKilled, why, false);
    if (const Status started = start(std::move(work).value(), std::move(call)); !started.ok()) {
      reply = refusal(started.error().message);
    }
  }
  // Without the lock, because it may call user functions.
  if (stopping) stopping->request_stop();
  return reply;
}

Reply JobThreads::add(JobThread& thread, RunCall&& call) {
  log_ids_.insert(call.log_id);
  ++waiting_;
  ++unreported_;
  callbacks_.on_taken(call);
  thread.triggers.push_back(std::move(call));
  thread.changed.notify_one();
  return {};
}

// Requires: mutex_ is held. Whether another job may run. An idle thread does not count: it ends
// within microseconds. The second limit is for slow destroy hooks.
Status JobThreads::check_room() const {
  if (threads_.size() + leaving_.size() < config_.threads_max) return {};
  const auto busy_of_job = [](const auto& each) { return each.second->is_busy(); };
  const auto busy = [](const auto& each) { return each->is_busy(); };
  const auto busy_jobs = std::count_if(threads_.begin(), threads_.end(), busy_of_job) +
                         std::count_if(leaving_.begin(), leaving_.end(), busy);
  if (static_cast<std::size_t>(busy_jobs) >= config_.threads_max) {
    return Error{ErrorCode::kLimit, "the executor has " + std::to_string(busy_jobs) +
                                        " running or waiting jobs, the maximum (slow down)"};
  }
  if (leaving_.size() >= config_.threads_max) {
    return Error{ErrorCode::kLimit, "the executor has " + std::to_string(leaving_.size()) +
                                        " ending threads, the maximum (slow down)"};
  }
  return {};
}

// Requires: mutex_ is held, and a thread is idle.
void JobThreads::retire_idle_longest() {
  const auto longest =
      std::min_element(threads_.begin(), threads_.end(), [](const auto& one, const auto& other) {
        return std::pair{one.second->is_busy(), one.second->idle_since} <
               std::pair{other.second->is_busy(), other.second->idle_since};
      });
  CARILLON_ASSERT(!longest->second->is_busy(), "at least one thread is idle");
  (void)retire(longest->first, StopReason::kNone, kIdle, false);  // No run to stop.
}

// Requires: check_room() succeeded.
Status JobThreads::start(std::unique_ptr<JobWork> work, RunCall&& call) {
  if (threads_.size() >= config_.threads_max) retire_idle_longest();
  auto thread = std::make_unique<JobThread>(call.job_id, ++last_number_, std::move(work), clock_);
  JobThread& self = *thread;
  self.control.output().forward_to([&self](wire::Stream stream, std::string_view bytes) {
    if (stream == wire::Stream::kLog) {
      self.log->line(bytes);
    } else {
      self.log->write(bytes);
    }
  });
  // Its first action is to wait for the mutex.
  self.thread = CARILLON_TRY(
      Thread::start("xxl-" + std::to_string(call.job_id), [this, &self] { work_on(self); }));
  threads_[call.job_id] = std::move(thread);
  (void)add(self, std::move(call));  // Always accepted.
  return {};
}

// Removes a job's thread. The caller requests the stop of the result without the lock.
std::optional<std::stop_source> JobThreads::retire(std::int64_t job_id, StopReason reason,
                                                   const std::string& text, bool at_once) {
  const auto found = threads_.find(job_id);
  if (found == threads_.end()) return std::nullopt;
  JobThread& thread = *found->second;
  thread.stopped = text;
  thread.changed.notify_one();
  thread_ended_.notify_all();  // It may be waiting for another thread's end.
  std::optional<std::stop_source> source;
  if (thread.running) source = thread.control.stop(reason, text, at_once);
  leaving_.push_back(std::move(found->second));
  threads_.erase(found);
  return source;
}

// Requires: mutex_ is held. Ended threads do nothing any more, so joining is fast.
void JobThreads::reap() {
  std::erase_if(leaving_, [](const auto& thread) { return thread->ended; });
}

Reply JobThreads::idle_beat(std::int64_t job_id) const {
  const MutexLock lock(mutex_);
  const auto found = threads_.find(job_id);
  if (found != threads_.end() && found->second->is_busy()) {
    return refusal("job thread is running or has trigger queue.");
  }
  return {};
}

Reply JobThreads::kill(std::int64_t job_id) {
  std::optional<std::stop_source> stopping;
  {
    const MutexLock lock(mutex_);
    if (!threads_.contains(job_id)) return {.message = "job thread already killed."};
    stopping = retire(job_id, StopReason::kKilled, "scheduling center kill job.", false);
  }
  if (stopping) stopping->request_stop();
  return {};
}

bool JobThreads::is_running(std::int64_t log_id) const {
  const MutexLock lock(mutex_);
  const auto runs_it = [log_id](const JobThread& thread) { return thread.running == log_id; };
  return std::any_of(threads_.begin(), threads_.end(),
                     [&](const auto& each) { return runs_it(*each.second); }) ||
         std::any_of(leaving_.begin(), leaving_.end(),
                     [&](const auto& each) { return runs_it(*each); });
}

std::optional<SteadyTime> JobThreads::stop_late_runs(SteadyTime now) {
  std::optional<SteadyTime> next;
  std::vector<std::stop_source> sources;
  {
    const MutexLock lock(mutex_);
    reap();
    const auto look_at = [&](JobThread& thread) {
      if (!thread.running || !thread.stop_at) return;
      if (*thread.stop_at <= now) {
        thread.stop_at.reset();
        sources.push_back(thread.control.stop(StopReason::kTimedOut, {}, false));
      } else if (!next || *thread.stop_at < *next) {
        next = thread.stop_at;
      }
    };
    for (const auto& [job_id, thread] : threads_) look_at(*thread);
    for (const auto& thread : leaving_) look_at(*thread);
  }
  for (std::stop_source& source : sources) source.request_stop();
  return next;
}

void JobThreads::close() {
  const MutexLock lock(mutex_);
  closed_ = true;
}

bool JobThreads::wait_reported(Duration longest) {
  const SteadyTime until = clock_.steady_now() + longest;
  MutexLock lock(mutex_);
  while (unreported_ > 0) {
    const auto left = std::chrono::ceil<Duration>(until - clock_.steady_now());
    if (left <= Duration{0}) return false;
    (void)all_reported_.wait_for(lock, left);  // The loop checks again.
  }
  return true;
}

void JobThreads::stop_all(const std::string& reason, bool at_once) {
  std::vector<std::stop_source> sources;
  {
    const MutexLock lock(mutex_);
    for (const auto& thread : leaving_) {
      if (!thread->running) continue;
      sources.push_back(thread->control.stop(StopReason::kShutdown, reason, at_once));
    }
    while (!threads_.empty()) {
      auto source = retire(threads_.begin()->first, StopReason::kShutdown, reason, at_once);
      if (source) sources.push_back(std::move(*source));
    }
  }
  for (std::stop_source& source : sources) source.request_stop();
}

// The code of a job's thread.
void JobThreads::work_on(JobThread& self) {
  await_predecessors(self);
  while (const std::optional<RunCall> call = next(self)) run_one(self, *call);
  report_unstarted(self);
  self.work.reset();
  const MutexLock lock(mutex_);
  self.ended = true;
  thread_ended_.notify_all();
}

// A run that covers another starts when that one has ended. One that ignores its stop token delays
// it only for a limited time.
void JobThreads::await_predecessors(const JobThread& self) {
  const SteadyTime until = clock_.steady_now() + config_.predecessor_wait;
  MutexLock lock(mutex_);
  while (!self.stopped && std::any_of(leaving_.begin(), leaving_.end(), [&](const auto& other) {
    return other->job_id == self.job_id && other->number < self.number && !other->ended;
  })) {
    const auto left = std::chrono::ceil<Duration>(until - clock_.steady_now());
    if (left <= Duration{0}) return;
    (void)thread_ended_.wait_for(lock, left);  // The loop checks again.
  }
}

// The next run; none: the thread ends.
std::optional<RunCall> JobThreads::next(JobThread& self) {
  MutexLock lock(mutex_);
  const SteadyTime idle_until = clock_.steady_now() + config_.idle_max;
  while (!self.stopped && self.triggers.empty()) {
    const auto left = std::chrono::ceil<Duration>(idle_until - clock_.steady_now());
    if (left > Duration{0}) {
      (void)self.changed.wait_for(lock, left);  // The loop checks again.
      continue;
    }
    // It is idle, so there is no run to stop.
    (void)retire(self.job_id, StopReason::kNone, kIdle, false);
  }
  if (self.stopped) return std::nullopt;
  RunCall call = std::move(self.triggers.front());
  self.triggers.pop_front();
  --waiting_;
  self.running = call.log_id;
  self.control.begin({JobId{call.log_id}, 1}, 0);
  if (call.timeout_s > 0) {
    self.stop_at = clock_.steady_now() + std::chrono::seconds{std::min<std::int64_t>(
                                             call.timeout_s, std::int64_t{1} << 32)};
    callbacks_.wake();
  }
  return call;
}

void JobThreads::run_one(JobThread& self, const RunCall& call) {
  self.log = logs_.open(call.log_id, call.log_time_ms);
  self.log->line("carillon: job " + std::to_string(call.job_id) + " starts, shard " +
                 std::to_string(call.shard_index) + " of " + std::to_string(call.shard_total) +
                 ", param: " + call.param);
  const RunResult result = self.work->run(call, self.control);
  self.log->line("carillon: ended with code " + std::to_string(result.code) +
                 (result.message ? ", message: " + *result.message : ""));
  self.log.reset();
  {
    const MutexLock lock(mutex_);
    self.running.reset();
    self.stop_at.reset();
    self.idle_since = clock_.steady_now();
    log_ids_.erase(call.log_id);
  }
  callbacks_.report(result);
  reported();
}

void JobThreads::report_unstarted(JobThread& self) {
  Triggers left;
  std::string why;
  {
    const MutexLock lock(mutex_);
    CARILLON_ASSERT(self.stopped.has_value(), "only a stopped thread leaves triggers");
    why = *self.stopped + " [job not executed, in the job queue, killed.]";
    left.swap(self.triggers);
    waiting_ -= left.size();
    for (const RunCall& call : left) log_ids_.erase(call.log_id);
  }
  for (const RunCall& call : left) {
    callbacks_.report({.log_id = call.log_id,
                       .log_time_ms = call.log_time_ms,
                       .code = wire::xxl::kFailure,
                       .message = why});
    reported();
  }
}

void JobThreads::reported() {
  const MutexLock lock(mutex_);
  if (--unreported_ == 0) all_reported_.notify_all();
}

}  // namespace carillon::tasktracker
