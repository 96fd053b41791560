#include "jobtracker/recovery/recovery.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "jobtracker/state/executors.h"

namespace carillon::jobtracker {

Recovery::Recovery(RecoveryConfig config, ExecutingTable& executing, Workers& workers,
                   AttemptReclaimer& ends, SchedulingClock& clock, const Logger& log)
    : config_(config),
      executing_(executing),
      workers_(workers),
      ends_(ends),
      clock_(clock),
      log_(log) {}

void Recovery::start(const StartAnswer& found) {
  ran_at_ = clock_.steady_now();
  before_ = found.lease;
  before_until_ = ran_at_ + before_;
  for (const ExecutingJob& row : found.executing) {
    Executing& entry = executing_.put(row, Phase::kSent);
    entry.handed_out_at = row.claimed_at;
    if (is_push_session(row.session)) continue;
    // A job that is due much later has started: the clock moved back.
    const Duration early = due_time(row.job) - clock_.now();
    if (early > Duration{} && early < kHandedOutEarlyMax) entry.early_until = ran_at_ + early;
    const auto silent = silences_.of.find(row.session);
    const bool is_known = silent != silences_.of.end() && has_group(silences_.owned, row.job.group);
    const SteadyTime since = ran_at_ - (is_known ? silent->second : Duration{});
    SteadyTime& orphan = orphans_.emplace(row.session, since).first->second;
    orphan = std::max(orphan, since);
  }
  silences_ = {};
  if (!found.executing.empty()) {
    log_.info("found executing jobs of an earlier session", "jobs", found.executing.size(),
              "sessions", orphans_.size());
  }
}

Recovery::Silences Recovery::silences(SteadyTime by, const Partitions& owned) const {
  Silences all{.owned = owned};
  const auto put = [&](SessionId session, SteadyTime since) {
    if (!is_push_session(session) && by > since)
      all.of.emplace(session, std::chrono::duration_cast<Duration>(by - since));
  };
  for (const auto& [session, worker] : workers_.all()) put(session, worker->heard_at);
  for (const auto& [session, since] : orphans_) put(session, since);
  return all;
}

bool Recovery::awaits_silent() const {
  const SteadyTime by = clock_.steady_now() - config_.lease / 2;
  return std::any_of(workers_.all().begin(), workers_.all().end(),
                     [&](const auto& one) {
                       return one.second->heard_at < by && !is_push_session(one.first) &&
                              executing_.has_any(one.first);
                     }) ||
         std::any_of(orphans_.begin(), orphans_.end(), [&](const auto& orphan) {
           return orphan.second < by && executing_.has_any(orphan.first);
         });
}

void Recovery::reconcile(const Worker& worker, std::int64_t handout_seen, std::int64_t answered,
                         const std::vector<wire::Held>& holding) {
  orphans_.erase(worker.session);
  std::set<wire::AttemptId> held;
  for (const wire::Held& one : holding) held.insert(one.id);
  for (const JobId id : executing_.of_session(worker.session)) {
    const Executing* entry = executing_.find(id);
    if (entry->phase != Phase::kSent || held.count({id, entry->row.job.attempt}) != 0) continue;
    const bool was_seen = entry->handout <= handout_seen;
    // A later message has arrived.
    const bool was_overtaken = entry->pull < answered;
    if (was_seen || was_overtaken) {
      log_.warn("a hand-out did not arrive; its job is requeued", "job", id.value, "node",
                worker.name);
      ends_.reclaim(id, false);
    }
  }
}

void Recovery::heard(SessionId session) {
  const auto orphan = orphans_.find(session);
  if (orphan != orphans_.end()) orphan->second = clock_.steady_now();
}

// After this time without a heartbeat of a task tracker, no lease of it is valid.
Duration Recovery::lease(SteadyTime now) const {
  return now <= before_until_ ? std::max(config_.lease, before_) : config_.lease;
}

std::vector<Worker> Recovery::run_once() {
  const SteadyTime now = clock_.steady_now();
  forgive_own_stall(now);
  const Duration lease = this->lease(now);
  std::vector<SessionId> silent;
  for (const auto& [session, worker] : workers_.all()) {
    const bool is_silent = now - worker->heard_at > lease;
    if (is_silent && !is_push_session(session)) silent.push_back(session);
  }
  std::vector<Worker> dead;
  for (const SessionId session : silent) {
    const Worker* worker = workers_.find(session);
    const auto jobs = executing_.of_session(session).size();
    log_.warn("a task tracker stopped sending heartbeats; its jobs are requeued", "node",
              worker->name, "jobs", jobs);
    ++workers_lost_;
    dead.push_back(*worker);
    workers_.erase(session);
    orphans_.erase(session);
    take_back_all(session, true);
  }
  for (const SessionId session : executing_.sessions()) {
    if (is_push_session(session) || workers_.find(session) != nullptr) continue;
    const auto [since, is_new] = orphans_.emplace(session, now);
    if (is_new) since->second = now - lease;  // It was claimed for a worker that has died.
    if (now - since->second <= lease) continue;
    take_back_all(session, true);
  }
  std::erase_if(orphans_, [this](const auto& orphan) { return !executing_.has_any(orphan.first); });
  return dead;
}

// A stalled job tracker has not read the messages that arrived: no task tracker is silent because
// of it.
void Recovery::forgive_own_stall(SteadyTime now) {
  const bool was_stalled = ran_at_ != SteadyTime{} && now - ran_at_ > config_.lease / 4;
  ran_at_ = now;
  if (!was_stalled) return;
  log_.warn("this job tracker stalled; its task trackers get a new full lease");
  for (const auto& [session, worker] : workers_.all()) worker->heard_at = now;
  for (auto& [session, since] : orphans_) since = now;
}

void Recovery::leave(SessionId session) {
  workers_.erase(session);
  take_back_all(session, false);
}

void Recovery::take_back_all(SessionId session, bool lost) {
  for (const JobId id : executing_.of_session(session)) {
    const Executing* entry = executing_.find(id);
    ends_.reclaim(id, lost && entry->phase == Phase::kSent);
  }
}

}  // namespace carillon::jobtracker
