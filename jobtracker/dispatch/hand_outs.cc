#include "jobtracker/dispatch/hand_outs.h"

#include <algorithm>
#include <utility>

#include "jobtracker/state/executors.h"

namespace carillon::jobtracker {
namespace {

constexpr Duration kLookAgain = std::chrono::milliseconds{
    10};  // wait until it is checked again whether a definition was replaced

}  // namespace

HandOuts::HandOuts(HandOutsConfig config, SessionId session, Catalog& catalog,
                   ExecutingTable& executing, Workers& workers, GroupMetrics& metrics,
                   const SchedulingClock& clock, TaskRunner& task_runner, AttemptReclaimer& ends,
                   WorkerLink& link, const Logger& log)
    : config_(config),
      session_(session),
      catalog_(catalog),
      executing_(executing),
      workers_(workers),
      metrics_(metrics),
      clock_(clock),
      task_runner_(task_runner),
      ends_(ends),
      link_(link),
      log_(log) {}

void HandOuts::add(Executing& entry) {
  entry.phase = Phase::kHeld;
  const WaitingJob& job = entry.row.job;
  // It has died or left.
  if (workers_.find(entry.row.session) == nullptr) return ends_.reclaim(job.id, false);
  if (may_go(job)) return make_ready(entry);
  make_ready_at(clock_.steady_at(due_time(job)), entry);
}

void HandOuts::make_ready_at(SteadyTime time, const Executing& entry) {
  const WaitingJob& job = entry.row.job;
  task_runner_.post_at(time, [this, id = job.id, attempt = job.attempt] {
    Executing* held = executing_.find(id, attempt);
    if (held != nullptr && held->phase == Phase::kHeld) make_ready(*held);
  });
}

void HandOuts::make_ready(Executing& entry) {
  if (!std::exchange(entry.is_ready, true)) ready_[entry.row.session].push_back(entry.row.job.id);
}

// It is due; or the clock moved back since it was claimed, and it would occupy a thread until its
// time comes again.
bool HandOuts::may_go(const WaitingJob& job) const {
  return wait_of(job, clock_.now()) == Duration{};
}

Duration HandOuts::wait_of(const WaitingJob& job, WallTime now) const {
  const Duration wait = due_time(job) - now;
  return wait > Duration{} && wait <= config_.wait_max ? wait : Duration{};
}

void HandOuts::send_held(SessionId session) {
  for (const JobId id : executing_.of_session(session)) {
    Executing* entry = executing_.find(id);
    // Otherwise its timer will send it.
    if (entry->phase == Phase::kHeld && may_go(entry->row.job)) make_ready(*entry);
  }
  put_in_order(ready_[session]);
}

void HandOuts::send_early() {
  std::vector<JobId> early;
  for (const auto& [id, entry] : executing_.all()) {
    if (entry.phase == Phase::kHeld && may_go_early(entry)) early.push_back(id);
  }
  ready_.clear();  // All entries of it are held, too.
  for (const JobId id : early) {
    Executing* entry = executing_.find(id);
    entry->is_ready = false;
    make_ready(*entry);
  }
  for (auto& [session, jobs] : ready_) put_in_order(jobs);
  send();
}

// Jobs that are being cancelled, suspended or changed are not sent early. A call of an executor is
// stored when it is made.
bool HandOuts::may_go_early(const Executing& entry) const {
  const WaitingJob& job = entry.row.job;
  const auto worker = workers_.all().find(entry.row.session);
  if (worker == workers_.all().end() || !worker->second->waits ||
      is_push_session(entry.row.session) || entry.cancels > 0 || catalog_.is_void(entry.row))
    return false;
  const ActiveDefinition* definition = catalog_.definition(job.definition);
  return definition == nullptr || !definition->is_changing || definition->only_adds;
}

void HandOuts::put_in_order(std::vector<JobId>& jobs) const {
  const auto key = [this](JobId id) {
    const Executing* entry = executing_.find(id);  // None: skipped.
    return entry == nullptr ? HandOutKey{} : hand_out_key(entry->row.job);
  };
  std::sort(jobs.begin(), jobs.end(),
            [&](JobId one, JobId other) { return key(one) < key(other); });
}

void HandOuts::send() {
  const WallTime now = clock_.now();
  for (auto& [session, jobs] : std::exchange(ready_, {})) {
    Worker* worker = workers_.find(session);
    // Otherwise recovery requeues them, or the task tracker returns: it would reject them now, and
    // its first pull fetches them.
    const bool may_send = worker != nullptr && worker->has_asked();
    std::vector<JobId> frame;
    std::size_t bytes = 0;
    for (const JobId id : jobs) {
      Executing* entry = executing_.find(id);
      if (entry != nullptr) entry->is_ready = false;
      if (!may_send || entry == nullptr || entry->phase != Phase::kHeld) continue;
      // A cancellation may have been stored with its claim.
      if (catalog_.is_void(entry->row)) {
        ends_.cancel_unsent(id);
        continue;
      }
      if (is_made_anew(entry->row.job)) {
        make_ready_at(clock_.steady_now() + kLookAgain, *entry);
        continue;
      }
      const std::size_t size = handed(*entry, now).spec.size() + 300;
      if (!frame.empty() && bytes + size > config_.bytes_max) {
        send_frame(*worker, std::exchange(frame, {}), now);
        bytes = 0;
      }
      frame.push_back(id);
      bytes += size;
    }
    if (!frame.empty()) send_frame(*worker, std::move(frame), now);
  }
}

void HandOuts::send_frame(Worker& worker, std::vector<JobId> jobs, WallTime now) {
  const auto count = static_cast<std::int32_t>(jobs.size());
  const SteadyTime steady_now = clock_.steady_now();
  wire::HandOut message{.session = worker.session,
                        .number = worker.number_handout(count, steady_now),
                        .pull = worker.pull,
                        .tracker_session = session_.value};
  worker.reserved -= count;
  for (const JobId id : jobs) {
    Executing& entry = *executing_.find(id);
    message.jobs.push_back(handed(entry, now));
    entry.early_until = steady_now + message.jobs.back().wait;
    entry.phase = Phase::kSent;
    entry.handout = message.number;
    entry.pull = message.pull;
    entry.handed_out_at = now;
    metrics_.started(entry.row.job.group, now - due_time(entry.row.job));
  }
  sent_ += count;
  if (link_.send(worker, wire::Message{std::move(message)})) return;
  log_.warn("cannot send a hand-out; its jobs are requeued", "node", worker.name, "jobs", count);
  worker.window = 0;  // until its next pull
  for (const JobId id : jobs) ends_.reclaim(id, false);
}

// A replacing definition has the fires that were not due at its submission. They belong to it,
// unless it is rejected.
bool HandOuts::is_made_anew(const WaitingJob& job) const {
  const ActiveDefinition* definition = catalog_.definition(job.definition);
  return definition != nullptr && definition->is_being_removed && is_fire(job) &&
         job.trigger_time >= definition->going_since;
}

wire::HandedJob HandOuts::handed(const Executing& entry, WallTime now) const {
  const WaitingJob& job = entry.row.job;
  wire::HandedJob handed{
      .id = {job.id, job.attempt}, .task_id = job.task_id, .trigger_time = job.trigger_time};
  handed.wait = wait_of(job, now);
  if (!job.spec.empty()) {
    handed.spec = job.spec;
  } else if (const ActiveDefinition* definition = catalog_.definition(job.definition)) {
    handed.spec = definition->row.spec;
  }
  return handed;
}

}  // namespace carillon::jobtracker
