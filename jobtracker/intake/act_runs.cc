// What acts do with runs: they are told to stop.
#include <utility>

#include "jobtracker/intake/act.h"

namespace carillon::jobtracker {

// None of its runs is at a task tracker.
void ActIntake::decline_kill(const PendingPtr& pending, const ActiveDefinition& definition) {
  const std::string what = pending->name() + " is not executing";
  const std::vector<JobId> runs = catalog_.runs(definition);
  if (runs.empty()) return decline(pending, ErrorCode::kNotFound, what);
  for (const JobId job : runs) {
    if (executing_.find(job) == nullptr) continue;
    return decline(pending, ErrorCode::kConflict,
                   what + ", its run is just being handed out or ends (try again)");
  }
  const auto run = definition.running.find(runs.front());
  const bool is_fire = run != definition.running.end() && run->second.is_fire;
  decline(pending, ErrorCode::kConflict,
          what + ", its run waits to be tried again (" +
              (is_fire ? "suspend and resume the task to drop that run)"
                       : "it was triggered: only to cancel the task drops that run)"));
}

void ActIntake::act_on_executing(const PendingPtr& pending, const ExecutingJob& job) {
  const wire::Verb verb = pending->act.verb;
  Executing* entry = executing_.find(job.job.id, job.job.attempt);
  if (entry != nullptr && entry->phase == Phase::kEnding) return look_again(pending);
  const bool is_unsent = entry != nullptr && entry->phase == Phase::kHeld;
  if (verb == wire::Verb::kSuspend && is_unsent && !job.job.definition)
    return suspend_unsent(pending, *entry);
  if (verb != wire::Verb::kCancel && verb != wire::Verb::kKill) {
    return decline(pending, ErrorCode::kConflict,
                   pending->name() + " is executing, it can only be cancelled or killed");
  }
  cancel_runs(pending, {{.id = job.job.id, .attempt = job.job.attempt}},
              pending->name() + " was executing and is told to stop", job.job.id);
}

// It was claimed ahead of its time: given back and suspended in one step, it is never sent.
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
      ends_.take_back(id, false);
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

// False: none of them is at a task tracker.
bool ActIntake::cancel_sent(const PendingPtr& pending, const std::vector<JobId>& jobs) {
  std::vector<CancelExecuting> runs;
  for (const JobId id : jobs) {
    const Executing* entry = executing_.find(id);
    if (entry == nullptr || entry->phase != Phase::kSent) continue;
    runs.push_back({.id = id, .attempt = entry->row.job.attempt});
  }
  if (runs.empty()) return false;
  const std::string done = runs.size() == 1
                               ? pending->name() + " was executing and is told to stop"
                               : std::to_string(runs.size()) + " runs of " + pending->name() +
                                     " were executing and are told to stop";
  cancel_runs(pending, runs, done, {});
  return true;
}

void ActIntake::cancel_runs(const PendingPtr& pending, const std::vector<CancelExecuting>& runs,
                            std::string message, JobId made) {
  std::vector<Operation> operations(runs.begin(), runs.end());
  for (const CancelExecuting& run : runs) {
    if (Executing* entry = executing_.find(run.id, run.attempt)) ++entry->cancels;
  }
  ForRequest request = for_request(pending, std::move(message), made);
  request.on_request = [this, runs, answer = std::move(request.on_request)](
                           const RequestOutcome& outcome, const Error* refused) {
    for (const CancelExecuting& run : runs) {
      if (Executing* entry = executing_.find(run.id, run.attempt)) --entry->cancels;
    }
    answer(outcome, refused);
  };
  const std::string reason = pending->act.verb == wire::Verb::kKill ? "killed" : "cancelled";
  batcher_.post_request(Urgency::kRequest, std::move(request.number), std::move(operations),
                        std::move(request.on_request),
                        [this, runs, reason](std::vector<Operation>&,
                                             const std::vector<Outcome>& outcomes, const Error*) {
                          for (std::size_t i = 0; i < runs.size(); ++i) {
                            if (outcomes[i].kind == OutcomeKind::kDone)
                              stops_.stop_runs({runs[i].id}, reason);
                          }
                        });
}

}  // namespace carillon::jobtracker
