#include "jobtracker/completion/completion.h"

#include <algorithm>
#include <utility>

#include "jobtracker/state/executors.h"
#include "shared/base/assert.h"
#include "shared/job/retry_delay.h"

namespace carillon::jobtracker {
namespace {

constexpr const char* kEnded = "it has already ended";

LogState state_of(wire::RunOutcome outcome) {
  switch (outcome) {
    case wire::RunOutcome::kSucceeded:
      return LogState::kSucceeded;
    case wire::RunOutcome::kFailed:
    case wire::RunOutcome::kException:
      return LogState::kFailed;
    case wire::RunOutcome::kLater:
      return LogState::kLater;
    case wire::RunOutcome::kTimedOut:
      return LogState::kTimedOut;
    case wire::RunOutcome::kKilled:
      return LogState::kKilled;
    case wire::RunOutcome::kDiscarded:
      return LogState::kDiscarded;
  }
  return LogState::kFailed;
}

bool has_failed(const LogEntry& log) {
  return log.state == LogState::kFailed || log.state == LogState::kTimedOut;
}

std::string in_quarantine(int lost) {
  return ", in " + std::to_string(lost) +
         " runs in a row; the job is in quarantine until it is resumed";
}

}  // namespace

Completion::Completion(Catalog& catalog, GroupMaker& groups, ExecutingTable& executing,
                       Workers& workers, Batcher& batcher, RunCompletionHandler& run_end,
                       FeedbackSink& feedback, AlarmSink& alarms, RunTally& tally,
                       GroupMetrics& metrics, WorkerLink& link, RunStopper& stopper, IdSource& ids,
                       SchedulingClock& clock, Random& random, const Logger& log)
    : catalog_(catalog),
      groups_(groups),
      executing_(executing),
      workers_(workers),
      batcher_(batcher),
      run_end_(run_end),
      feedback_(feedback),
      alarms_(alarms),
      tally_(tally),
      metrics_(metrics),
      link_(link),
      stopper_(stopper),
      ids_(ids),
      clock_(clock),
      random_(random),
      log_(log) {}

void Completion::report(Worker& worker, const wire::Report& message) {
  const SessionId ran_in = message.origin ? message.origin : worker.session;
  for (const wire::RunResult& result : message.results) {
    Executing* entry = executing_.find(result.id.job_id);
    const bool is_current = entry != nullptr && entry->row.job.attempt == result.id.attempt &&
                            entry->row.session == ran_in;
    if (!is_current) {
      // Fenced: a newer attempt exists, or the job has ended; or the result was confirmed and is
      // reported again.
      ++late_reports_;
      log_.info("ignored a late report", "job", result.id.job_id.value, "attempt",
                result.id.attempt, "reported", to_string(state_of(result.outcome)), "node",
                worker.name);
      confirmed_[worker.session].push_back(result.id);
    } else if (entry->phase == Phase::kSent) {
      std::vector<std::string> names;
      if (result.outcome == wire::RunOutcome::kSucceeded)
        names = run_end_.unknown_groups(entry->row.job);
      if (names.empty()) {
        end_by(*entry, worker.session, result);
      } else {
        find_groups(*entry, worker.session, result, std::move(names));
      }
    }  // Otherwise its end is being stored, and is confirmed afterwards.
  }
}

void Completion::give_back(Worker& worker, const wire::GiveBack& message) {
  for (const wire::AttemptId& id : message.jobs) {
    Executing* entry = executing_.find(id.job_id);
    const bool is_current = entry != nullptr && entry->row.job.attempt == id.attempt &&
                            entry->row.session == worker.session;
    if (!is_current) {
      confirmed_[worker.session].push_back(id);
    } else if (entry->phase == Phase::kSent) {
      reclaim(id.job_id, false);
    }
  }
}

void Completion::reclaim(JobId id, bool lost) {
  Executing* entry = executing_.find(id);
  if (entry == nullptr || entry->phase == Phase::kEnding || entry->phase == Phase::kClaiming)
    return;
  // The reporting worker may have left when the job can be requeued.
  if (!lost) entry->is_not_there = true;
  if (entry->is_not_there) lost = false;
  if (catalog_.is_void(entry->row)) {
    LogEntry log = log_of(*entry, lost ? LogState::kLost : LogState::kCancelled);
    if (lost) {
      log.message = "its task tracker died after the run had been cancelled";
      if (begins_quarantine(entry->row.job, log))
        log.message += in_quarantine(lost_once_more(entry->row.job));
    } else {
      log.message = "cancelled before this attempt started";
      log.attempt = 0;  // This claim led to no attempt.
      log.started_at = {};
      log.node.clear();
    }
    end(*entry, entry->row.session, JobEvent::kCancel, std::move(log), std::nullopt);
    return;
  }
  if (entry->cancels > 0) return;
  if (lost) return end_lost(*entry);
  end(*entry, entry->row.session, JobEvent::kGiveBack, std::nullopt, entry->row.job);
}

void Completion::end_lost(Executing& entry) {
  WaitingJob again = entry.row.job;
  again.lost = lost_once_more(again);
  LogEntry log = log_of(entry, LogState::kLost);
  const bool is_pushed = is_push_session(entry.row.session);
  log.message = is_pushed ? "its executor died, was disconnected, or never received the call"
                          : "its task tracker died or was disconnected";
  log.final = false;
  if (!was_lost_too_often(again)) {
    return end(entry, entry.row.session, JobEvent::kLose, std::move(log), std::move(again));
  }
  log.message += in_quarantine(again.lost);
  if (again.definition)
    return end(entry, entry.row.session, JobEvent::kLose, std::move(log), std::move(again));
  again.suspended = true;
  ++quarantined_;
  log_.warn("a job is in quarantine: its task tracker died each time it ran", "job", again.id.value,
            "task", again.task_id, "node", entry.row.node);
  end(entry, entry.row.session, JobEvent::kQuarantine, std::move(log), std::move(again));
}

void Completion::cancel_unsent(JobId id) {
  Executing* entry = executing_.find(id);
  CARILLON_ASSERT(entry != nullptr && entry->phase == Phase::kHeld,
                  "only a claimed job that was not sent can be returned");
  entry->row.cancelled = true;
  if (Worker* worker = workers_.find(entry->row.session)) --worker->reserved;
  reclaim(id, false);
}

LogEntry Completion::log_of(const Executing& entry, LogState state) const {
  const WaitingJob& job = entry.row.job;
  const WallTime now = clock_.now();
  return LogEntry{.id = ids_.next(now),
                  .job_id = job.id,
                  .group = job.group,
                  .task_id = job.task_id,
                  .definition = job.definition,
                  .attempt = job.attempt,
                  .state = state,
                  .trigger_time = job.trigger_time,
                  .started_at = entry.handed_out_at,
                  .ended_at = now,
                  .node = entry.row.node,
                  .executor_log = entry.executor_log};
}

// Whether this loss puts the job or its definition, which outlives the run, into quarantine.
bool Completion::begins_quarantine(const WaitingJob& job, const LogEntry& log) const {
  if (log.state != LogState::kLost || lost_once_more(job) < kLostRunsMax) return false;
  if (!log.final) return true;
  const ActiveDefinition* definition = catalog_.definition(job.definition);
  return definition != nullptr && definition->counts_loss_of(job);
}

// Finds the groups of its children. If the store is not reachable, the worker reports the result
// again.
void Completion::find_groups(Executing& entry, SessionId tell, const wire::RunResult& result,
                             std::vector<std::string> names) {
  entry.phase = Phase::kEnding;
  groups_.find_groups(std::move(names), [this, tell, result](const Status& asked) {
    Executing* ends = executing_.find(result.id.job_id);
    CARILLON_ASSERT(ends != nullptr && ends->phase == Phase::kEnding,
                    "no other decider ends a run whose end is being stored");
    ends->phase = Phase::kSent;
    if (asked.ok()) end_by(*ends, tell, result);
  });
}

void Completion::end_by(Executing& entry, SessionId tell, const wire::RunResult& result) {
  LogEntry log = log_of(entry, state_of(result.outcome));
  log.started_at = result.started_at;
  log.ended_at = std::min(result.ended_at, clock_.now());  // The worker's clock may be ahead.
  log.exit_code = result.exit_code;
  log.message = result.message;
  const WallTime now = clock_.now();
  WaitingJob again = entry.row.job;
  again.lost = 0;
  switch (result.outcome) {
    case wire::RunOutcome::kSucceeded:
      return end(entry, tell, JobEvent::kSucceed, std::move(log), std::nullopt);
    case wire::RunOutcome::kLater:
      if (catalog_.is_void(entry.row)) break;
      if (entry.cancels > 0) return;
      log.final = false;
      again.not_before = now + std::max(result.later, Duration{});
      return end(entry, tell, JobEvent::kLater, std::move(log), std::move(again));
    case wire::RunOutcome::kException:
    case wire::RunOutcome::kTimedOut: {
      if (catalog_.is_void(entry.row)) break;
      std::optional<JobSpec> own;
      const JobSpec* spec = catalog_.spec_of(again, own);
      const RetryPolicy retries = spec == nullptr ? RetryPolicy{} : spec->retries;
      if (again.failures >= retries.max) break;
      if (entry.cancels > 0) return;
      again.failures += 1;
      log.final = false;
      again.not_before = now + retry_delay(retries, again.failures, random_);
      again.priority = catalog_.own_priority(again);
      return end(entry, tell, JobEvent::kRetry, std::move(log), std::move(again));
    }
    case wire::RunOutcome::kFailed:
    case wire::RunOutcome::kKilled:
    case wire::RunOutcome::kDiscarded:
      break;
  }
  end(entry, tell, entry.row.cancelled ? JobEvent::kCancel : JobEvent::kFail, std::move(log),
      std::nullopt);
}

void Completion::end(Executing& entry, SessionId tell, JobEvent event, std::optional<LogEntry> log,
                     std::optional<WaitingJob> again) {
  const auto state = next(JobState::kExecuting, event);
  CARILLON_ASSERT(state && (*state != JobState::kEnded) == again.has_value(),
                  "the state table allows the transition");
  const WaitingJob& job = entry.row.job;
  if (event == JobEvent::kLose || event == JobEvent::kGiveBack) {
    const WallTime now = clock_.now();
    const Duration early = due_time(*again) - now;
    if (early > kHandedOutEarlyMax) clock_moved_back(*again, early, now);
  }
  if (again) {
    again->delayed = again->suspended || due_time(*again) > run_end_.horizon_end();
    run_end_.keep_time(again->id);
  }
  Ending ending{.tell = tell, .job = job, .is_final = !again};
  ending.ran = was_tried(job) || (log && log->attempt > 0);
  ending.may_go_on = job.lost > 0 || (log && log->state == LogState::kLost);
  if (log && log->attempt > 0)
    ending.job.lost = log->state == LogState::kLost ? lost_once_more(job) : 0;
  ending.ended = log ? log->ended_at : clock_.now();
  TriggeredChildren children;
  if (event == JobEvent::kSucceed && !entry.row.cancelled)
    children = run_end_.trigger_children(job);
  if (!children.note.empty()) {
    log->message = children.note + (log->message.empty() ? "" : "; ") + log->message;
  }
  if (ending.is_final && log) feedback_.address(*log, job);
  if (log && (log->state == LogState::kSucceeded || has_failed(*log)))
    tally_.ran(entry.row, has_failed(*log));
  const bool is_failure =
      log && !again && event == JobEvent::kFail && has_failed(*log);  // and no further attempt
  if (log && (is_failure || begins_quarantine(job, *log))) alarms_.address(*log, job);
  std::vector<Operation> operations;
  operations.emplace_back(End{.id = job.id,
                              .attempt = job.attempt,
                              .group = job.group,
                              .task_id = job.task_id,
                              .frees_key = ending.is_final && job.keyed && !job.definition,
                              .log = std::move(log),
                              .again = std::move(again),
                              .children = std::move(children.runs),
                              .relayed = std::move(children.relayed)});
  if (ending.is_final && job.definition) {
    auto with = run_end_.with_end(job, ending.ended, ending.ran);
    std::move(with.begin(), with.end(), std::back_inserter(operations));
  }
  entry.phase = Phase::kEnding;
  batcher_.post_unit(Urgency::kCompletion, std::move(operations),
                     [this, ending = std::move(ending)](
                         std::vector<Operation>& done, const std::vector<Outcome>& outcomes,
                         const Error* refused) { on_ended(ending, done, outcomes, refused); });
}

void Completion::on_ended(const Ending& ending, std::vector<Operation>& operations,
                          const std::vector<Outcome>& outcomes, const Error* refused) {
  const WaitingJob& job = ending.job;
  auto& end = std::get<End>(operations.front());
  const bool is_done = refused == nullptr && outcomes.front().kind == OutcomeKind::kDone;
  run_end_.children_were_stored(std::move(end.children), is_done);
  if (end.log) alarms_.settled(*end.log);
  if (refused != nullptr) {
    log_.error("cannot store the end of a job", "job", job.id.value, "task", job.task_id, "error",
               refused->message);
  }
  if (refused != nullptr) {
    // Not stored, so not confirmed: the worker keeps the result and reports it again.
    if (Executing* entry = executing_.find(job.id)) entry->phase = Phase::kSent;
    if (ending.is_final && job.definition && operations.size() > 1) {
      run_end_.not_ended(job);
    }
    return;
  }
  executing_.erase(job.id);
  confirmed_[ending.tell].push_back({job.id, job.attempt});
  if (end.log) {  // An unstarted job that is requeued has not ended.
    ++ended_;
    metrics_.ended(job, *end.log);
  }
  if (end.log && is_done) feedback_.was_stored(*end.log);
  if (ending.is_final && ending.may_go_on) stopper_.call_off(job.id, kEnded);
  if (end.again && is_done) run_end_.runs_again(std::move(*end.again));
  if (!ending.is_final || !job.definition) return;
  const std::vector<Operation> with(std::make_move_iterator(operations.begin() + 1),
                                    std::make_move_iterator(operations.end()));
  run_end_.run_ended(job, ending.ended, ending.ran, with, {outcomes.begin() + 1, outcomes.end()});
}

bool Completion::flush() {
  if (confirmed_.empty()) return false;
  for (auto& [session, done] : std::exchange(confirmed_, {})) {
    const Worker* worker = workers_.find(session);
    if (worker == nullptr) continue;  // It will report again, and get the confirmation then.
    if (!link_.send(*worker, wire::Message{wire::Reported{.done = std::move(done)}})) {
      log_.debug("cannot send a confirmation", "node", worker->name);
    }
  }
  return true;
}

}  // namespace carillon::jobtracker
