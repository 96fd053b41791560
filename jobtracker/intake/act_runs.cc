// Actions on runs: stop requests, and the end of waiting retries.
#include <algorithm>
#include <utility>

#include "jobtracker/intake/act.h"

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kRetriesMax = 10'000;  // ended by one kill

std::string some(const std::string& name, std::size_t runs) {
  return runs == 1 ? name : std::to_string(runs) + " runs of " + name;
}

// The text of the answer.
std::string what_ends(const std::string& name, std::size_t sent, std::size_t retries) {
  std::string text;
  if (sent > 0) {
    text = some(name, sent) + (sent == 1 ? " was executing and is" : " were executing and are") +
           " told to stop";
  }
  if (retries == 0) return text;
  if (!text.empty()) text += "; ";
  return text + some(name, retries) + " will not be retried";
}

}  // namespace

// Its runs get a stop request, and its waiting retries end.
void ActIntake::kill_definition(const PendingPtr& pending, const ActiveDefinition& definition) {
  const DefinitionId id = definition.row.id;
  const auto end = [this, pending, id](const std::vector<WaitingJob>& retries) {
    const ActiveDefinition* found = catalog_.definition(id);
    const auto runs = found == nullptr ? std::vector<JobId>{} : catalog_.runs(*found);
    const std::string what = pending->name() + " is not executing";
    if (runs.empty()) return decline(pending, ErrorCode::kNotFound, what);
    const std::vector<CancelExecuting> at_work = sent_of(runs);
    if (!at_work.empty() || !retries.empty()) return end_runs(pending, at_work, retries, {});
    decline(pending, ErrorCode::kConflict,
            what + "; its run is just starting or ending (try again)");
  };
  const auto waits = [this](const auto& run) { return executing_.find(run.first) == nullptr; };
  if (std::none_of(definition.running.begin(), definition.running.end(), waits)) return end({});
  ReadOccurrences question{.definition = id, .group = definition.row.group, .limit = kRetriesMax};
  batcher_.hold(pending->bytes);
  batcher_.ask(question, [this, pending, end](Result<ReadAnswer> answer) {
    batcher_.release(pending->bytes);
    if (!answer.ok()) return refuse(pending, answer.error().code, answer.error().message);
    auto jobs = std::move(std::get<JobsAnswer>(answer.value()).jobs);
    std::erase_if(jobs,
                  [this](const WaitingJob& job) { return !was_tried(job) || is_moving(job); });
    end(jobs);
  });
}

// It is being claimed or ended.
bool ActIntake::is_moving(const WaitingJob& job) {
  const ActiveDefinition* definition = catalog_.definition(job.definition);
  const bool is_changing =
      definition != nullptr && (definition->is_recovering || definition->supersedes(job) ||
                                definition->removing.contains(job.id));
  return is_changing || executing_.find(job.id) != nullptr;
}

// Cancels or kills a job, and running jobs of a task with its name. A kill ends retries, and keeps
// jobs that have never run.
void ActIntake::stop_job(const PendingPtr& pending, const FindAnswer& found) {
  const bool kills = pending->act.verb == wire::Verb::kKill;
  std::vector<CancelExecuting> runs = outliving_of(*pending);
  std::vector<WaitingJob> waits;
  JobId job{};
  if (found.waiting) {
    const bool has_run = was_tried(*found.waiting) && !is_quarantined(*found.waiting);
    if (found.waiting->definition && !(kills && has_run))
      return decline_run_that_waits(pending, found);
    const bool ends = has_run || !kills;
    if (ends && is_moving(*found.waiting)) return look_again(pending);
    if (!ends && runs.empty()) {
      return decline(pending, ErrorCode::kConflict,
                     pending->name() + " is waiting, not executing (cancel it instead)");
    }
    if (ends) waits.push_back(*found.waiting);
    if (ends) job = found.waiting->id;
    pending->change.task_id = found.waiting->task_id;
  } else if (found.executing) {
    const WaitingJob& run = found.executing->job;
    const Executing* entry = executing_.find(run.id, run.attempt);
    if (entry != nullptr && entry->phase == Phase::kEnding) return look_again(pending);
    runs.insert(runs.begin(), {.id = run.id, .attempt = run.attempt});
    job = run.id;
    pending->change.task_id = run.task_id;
  }
  if (runs.empty() && waits.empty()) return decline_unknown(pending);
  end_runs(pending, runs, waits, job);
}

void ActIntake::act_on_executing(const PendingPtr& pending, const ExecutingJob& job) {
  Executing* entry = executing_.find(job.job.id, job.job.attempt);
  if (entry != nullptr && entry->phase == Phase::kEnding) return look_again(pending);
  const bool is_unsent = entry != nullptr && entry->phase == Phase::kHeld;
  if (pending->act.verb == wire::Verb::kSuspend && is_unsent && !job.job.definition)
    return suspend_unsent(pending, *entry);
  if (pending->act.verb == wire::Verb::kSetPriority) {
    return decline(
        pending, ErrorCode::kConflict,
        pending->name() + " is executing already (only a waiting job has a place in the queue)");
  }
  decline(pending, ErrorCode::kConflict,
          pending->name() + " is executing and can only be cancelled or killed");
}

// Runs of the task whose definition was replaced or removed; they continue.
std::vector<CancelExecuting> ActIntake::outliving_of(const Pending& pending) {
  if (pending.act.job_id) return {};
  const std::set<JobId>& runs = catalog_.outliving(pending.group, pending.act.task_id);
  return sent_of({runs.begin(), runs.end()});
}

// It was claimed ahead of its time: one operation requeues and suspends it, so it is never sent.
void ActIntake::suspend_unsent(const PendingPtr& pending, Executing& entry) {
  WaitingJob suspended = entry.row.job;
  suspended.delayed = true;
  suspended.suspended = true;
  const JobId id = suspended.id;
  const std::int32_t attempt = suspended.attempt;
  entry.phase = Phase::kEnding;
  if (Worker* worker = workers_.find(entry.row.session)) --worker->reserved;
  std::vector<Operation> operations;
  operations.emplace_back(End{.id = id,
                              .attempt = attempt,
                              .group = suspended.group,
                              .task_id = suspended.task_id,
                              .again = suspended});
  ForRequest request = for_request(pending, pending->name() + " suspended", id);
  request.on_request = [this, id, attempt, answer = std::move(request.on_request)](
                           const RequestOutcome& outcome, const Error* refused) {
    if (Executing* left = executing_.find(id, attempt)) {
      left->phase = Phase::kHeld;
      ends_.reclaim(id, false);
    }
    answer(outcome, refused);
  };
  batcher_.post_request(
      Urgency::kRequest, std::move(request.number), std::move(operations),
      std::move(request.on_request),
      [this, id](std::vector<Operation>&, const std::vector<Outcome>& outcomes, const Error*) {
        if (outcomes.front().kind == OutcomeKind::kDone) executing_.erase(id);
      });
}

std::vector<CancelExecuting> ActIntake::sent_of(const std::vector<JobId>& jobs) {
  std::vector<CancelExecuting> runs;
  for (const JobId id : jobs) {
    const Executing* entry = executing_.find(id);
    if (entry == nullptr || entry->phase != Phase::kSent) continue;
    runs.push_back({.id = id, .attempt = entry->row.job.attempt});
  }
  return runs;
}

// Waiting jobs are held during the action.
void ActIntake::end_runs(const PendingPtr& pending, const std::vector<CancelExecuting>& runs,
                         const std::vector<WaitingJob>& waits, JobId made) {
  const bool kills = pending->act.verb == wire::Verb::kKill;
  const std::string how = kills ? "killed" : "cancelled";
  std::vector<Operation> operations(runs.begin(), runs.end());
  for (const CancelExecuting& run : runs) {
    if (Executing* entry = executing_.find(run.id, run.attempt)) ++entry->cancels;
  }
  std::vector<TimeHold> holds;
  for (const WaitingJob& job : waits) {
    holds.push_back(definitions_.hold_time(job.id));
    operations.emplace_back(ChangeWaiting{
        .from = job,
        .log =
            called_off(job, how + (was_tried(job) ? " before it ran again" : " before it ran"))});
    job.delayed ? definitions_.hold_promotion() : sink_.hold(job.group, job.id);
  }
  const bool cancels_waiting = !kills && !waits.empty();
  ForRequest request =
      for_request(pending,
                  cancels_waiting ? pending->name() + " cancelled"
                                  : what_ends(pending->name(), runs.size(), waits.size()),
                  made);
  request.on_request = [this, runs, waits, holds, answer = std::move(request.on_request)](
                           const RequestOutcome& outcome, const Error* refused) {
    for (const TimeHold& hold : holds) definitions_.release_time(hold, false);
    for (const CancelExecuting& run : runs) {
      if (Executing* entry = executing_.find(run.id, run.attempt)) --entry->cancels;
    }
    for (const WaitingJob& job : waits) {
      job.delayed ? definitions_.release_promotion() : sink_.release(job.id);
      const bool was_left = refused != nullptr || outcome.answered_before;
      if (was_left && !job.delayed) sink_.reload(job.group);
    }
    answer(outcome, refused);
  };
  batcher_.post_request(Urgency::kRequest, std::move(request.number), std::move(operations),
                        std::move(request.on_request),
                        [this, how](std::vector<Operation>& done,
                                    const std::vector<Outcome>& outcomes, const Error*) {
                          for (std::size_t i = 0; i < done.size(); ++i) {
                            if (outcomes[i].kind == OutcomeKind::kDone) was_ended(done[i], how);
                          }
                        });
}

void ActIntake::was_ended(const Operation& operation, const std::string& how) {
  if (const auto* run = std::get_if<CancelExecuting>(&operation))
    return stops_.stop_runs({run->id}, how);
  const auto& gone = std::get<ChangeWaiting>(operation);
  feedback_.was_stored(*gone.log);
  if (was_tried(gone.from)) stops_.call_off(gone.from.id, gone.log->message);
  if (gone.from.definition) definitions_.retry_ended(gone.from);
}

}  // namespace carillon::jobtracker
