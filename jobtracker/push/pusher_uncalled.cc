#include <algorithm>
#include <iterator>
#include <utility>

#include "jobtracker/push/pusher.h"

// Attempts without a call: they are requeued while no executor is reachable, and calls are recalled
// as far as possible.
namespace carillon::jobtracker {

// True: its executor does not receive it.
bool Pusher::call_back(Run& run) {
  if (run.phase == Phase::kStored) return true;
  if (run.phase != Phase::kCalling || !run.sending || !run.sending->recall()) return false;
  run.sent_at = WallTime{};
  return true;
}

// True: no executor receives it.
bool Pusher::call_back_all(const Job& job) {
  return std::all_of(job.runs.begin(), job.runs.end(), [this](std::int64_t log_id) {
    Run& run = runs_.at(log_id);
    return run.phase == Phase::kStoring || call_back(run);
  });
}

// An executor has received a call. A failed or lost shard has run.
bool Pusher::has_begun(const Job& job) const {
  return std::any_of(job.runs.begin(), job.runs.end(), [this](std::int64_t log_id) {
    const Run& run = runs_.at(log_id);
    return run.phase == Phase::kRunning || run.phase == Phase::kEnded || run.row.failures > 0 ||
           run.losses > 0;
  });
}

// ---- while no executor is reachable ----

void Pusher::note_unwell(const Call& call, const net::PostOutcome& outcome) {
  note_silence(call, outcome);
  if (executors_.find(call.group, call.address) == nullptr) return;
  const bool is_silent = silence_.since(call.place()).has_value();
  const Health health = outcome.is_refused ? Health::kAbsent
                        : is_silent        ? Health::kSilent
                                           : Health::kQuiet;
  const bool is_news = health_.set_unwell(call.group, call.address, health);
  if (is_news && outcome.is_refused)
    log_.warn("no program listens at the address of an executor", "address", call.address);
}

bool Pusher::is_elsewhere_better(GroupId group, const std::string& address,
                                 const std::vector<std::string>& others) const {
  const Health health = health_.of(group, address);
  return health != Health::kWell &&
         std::any_of(others.begin(), others.end(),
                     [&](const std::string& other) { return health_.of(group, other) < health; });
}

// If no executor is reachable, a shard of a started broadcast is called again later: it cannot be
// requeued.
bool Pusher::waits_for_any(const Job& job, Run& run) {
  if (!job.killed.empty() || !health_.is_nobody_there(job.group) || run.row.shards == 1)
    return false;
  run.phase = Phase::kEnded;
  run.again_at = clock_.steady_now() + config_.result_grace;
  return true;
}

// ---- jobs that must not start ----

bool Pusher::is_void(const Job& job) const {
  const Executing* entry = executing_.find(job.id, job.attempt);
  return entry != nullptr && catalog_.is_void(entry->row);
}

// It was void or late, and was requeued.
bool Pusher::requeue_if_superseded(const Job& job) {
  const Executing* entry = executing_.find(job.id, job.attempt);
  const bool must = !has_begun(job) && job.killed.empty() && entry != nullptr &&
                    entry->phase == jobtracker::Phase::kSent && !outside_.may_begin_until(*entry);
  return must && go_back(job);
}

// Its executor has left, and others may have come since it was chosen; or none is reachable.
bool Pusher::requeue_if_executor_gone(const std::string& address, const Job& job) {
  const bool is_gone = executors_.find(job.group, address) == nullptr;
  return job.killed.empty() && (is_gone || health_.is_nobody_there(job.group)) && go_back(job);
}

// Time passes while the call waits for a connection.
SteadyTime Pusher::call_until(const Job& job) const {
  const Executing* entry = executing_.find(job.id, job.attempt);
  if (entry == nullptr || has_begun(job)) return SteadyTime::max();
  const WallTime until = outside_.may_begin_until(*entry).value_or(WallTime::max());
  return until == WallTime::max() ? SteadyTime::max()
                                  : clock_.steady_now() + (until - clock_.now());
}

// False: an executor may have received it, or it is being cancelled. Otherwise the job is removed.
bool Pusher::go_back(const Job& job) {
  const Executing* entry = executing_.find(job.id, job.attempt);
  const bool is_being_cancelled = entry != nullptr && entry->cancels > 0;
  if (job.result || is_being_cancelled || has_begun(job) || !call_back_all(job)) return false;
  const wire::AttemptId id{job.id, job.attempt};
  forget(id);
  going_back_.insert(id);
  ends_.reclaim(id.job_id, false);
  return true;
}

// Repeats what the store rejected.
void Pusher::go_back_again() {
  for (auto id = going_back_.begin(); id != going_back_.end();) {
    const Executing* entry = executing_.find(id->job_id, id->attempt);
    if (entry != nullptr && entry->phase == jobtracker::Phase::kSent)
      ends_.reclaim(id->job_id, false);
    id = entry == nullptr ? going_back_.erase(id) : std::next(id);
  }
}

void Pusher::reclaim_void(DefinitionId definition) {
  for (const JobId id : executing_.of_definition(definition)) {
    const auto found = jobs_.find(id);
    if (found != jobs_.end()) (void)requeue_if_superseded(found->second);
  }
}

// ---- when the session ends ----

void Pusher::stop() {
  lease_->end();
  for (auto& [id, job] : jobs_) give_away(job);
}

// Without rows it was not called, and the next session calls it. A broadcast with a called shard
// stays: its other shards may be lost.
void Pusher::give_away(Job& job) {
  if (job.result || job.runs.empty() || has_begun(job) || !call_back_all(job)) return;
  std::vector<Operation> rows;
  for (const std::int64_t log_id : job.runs) rows.emplace_back(RemovePushRun{log_id});
  batcher_.post_unit(Urgency::kClaim, std::move(rows),
                     [](std::vector<Operation>&, const std::vector<Outcome>&, const Error*) {});
}

}  // namespace carillon::jobtracker
