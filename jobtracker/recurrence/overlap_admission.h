#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include "jobtracker/recurrence/down_time.h"
#include "jobtracker/recurrence/generation.h"
#include "jobtracker/recurrence/quarantine.h"
#include "jobtracker/state/admission_policy.h"
#include "jobtracker/state/run_stopper.h"

namespace carillon::jobtracker {

// Decides whether a due job may run now: overlap, start deadlines, void and missed fires.
//
// The overlap rule decides what happens to a fire that is due while a previous run, with its
// retries, has not ended. The decision is made when the fire is due and next in order, not when its
// occurrence is created:
//   parallel        it runs at the same time
//   skip            it is skipped; the next one is the first fire of the schedule after the end
//   queue           it waits in order; beyond a limit it is skipped
//   queue_one       it waits; all waiting fires but the latest are skipped
//   cancel_running  like queue_one; the previous run gets a stop request as soon as the fire is
//   due, and its retries are void
// A job that waits only for a thread keeps its place among the jobs of other tasks. A triggered run
// follows the rule too, but waits where `skip` would skip it; with force it runs immediately.
// Previous runs are those of the task: they count also after a replacement of the definition and
// after a restart. A schedule's count counts runs: a fire that is skipped, expired or void does not
// count, and another takes its place.
//
// Thread: the loop.
class OverlapAdmission final : public AdmissionPolicy {
 public:
  OverlapAdmission(RecurrenceConfig config, const DownTime& down_time, Plans& plans,
                   Changes& changes, Quarantine& quarantine, Generation& generation,
                   Catalog& catalog, ExecutingTable& executing, Batcher& batcher, JobSink& sink,
                   FeedbackSink& feedback, RunStopper& stopper, IdSource& ids,
                   SchedulingClock& clock, TaskRunner& task_runner);

  // ---- for dispatch ----
  bool admit(WaitingJob& job, WallTime now) override;
  bool is_missed(const WaitingJob& job) const override;
  bool expire(WaitingJob job) override;
  void was_not_claimed(const WaitingJob& job) override;

  // A run has ended: jobs that waited for it may run.
  void unblock(ActiveDefinition& definition);
  // The same for a run whose definition was replaced or removed: it may block the current holder of
  // the task id.
  void outliving_ended(const WaitingJob& job);
  // For cancel_running: requests the stop of runs when the next fire is due, even without a free
  // thread for that fire. The run may occupy the last one.
  void watch_next_fire(ActiveDefinition& definition);
  // Its definition was suspended or removed, but a retry or a triggered run was being stored at
  // that time, too late to be voided: ends it.
  void end_void(WaitingJob job);
  Sizes sizes() const { return {{"early", early_.size()}}; }

 private:
  bool admit_one_shot(WaitingJob& job, WallTime now);
  bool admit_beside(ActiveDefinition& definition, WaitingJob& job, WallTime now);
  void keep_early(const WaitingJob& job);
  void offer_early(DefinitionId definition, const HandOutKey& key);
  bool block(ActiveDefinition& definition, const WaitingJob& job, std::size_t most);
  void keep_latest(ActiveDefinition& definition);
  void make_way(ActiveDefinition& definition);
  void fire_came(DefinitionId id, std::int32_t version, WallTime fire);

  // Ends without a run, or without its remaining retries.
  void end_one_shot(WaitingJob job);
  void end_retry(ActiveDefinition& definition, WaitingJob job);
  void skip_fire(ActiveDefinition& definition, WaitingJob job, LogState state, std::string message);
  void skip_uncounted(ActiveDefinition& definition, WaitingJob job, LogState state,
                      std::string message);
  void leave_with(ActiveDefinition& definition, const WaitingJob& job, LogEntry entry,
                  ChangeDefinition operation, std::function<void(DefinitionId)> then);
  void end_waiting(WaitingJob job, LogState state, std::string message);
  void left(ActiveDefinition& definition, JobId id);

  const RecurrenceConfig config_;
  const DownTime& down_time_;
  Plans& plans_;
  Changes& changes_;
  Quarantine& quarantine_;
  Generation& generation_;
  Catalog& catalog_;
  ExecutingTable& executing_;
  Batcher& batcher_;
  JobSink& sink_;
  FeedbackSink& feedback_;
  RunStopper& stopper_;
  IdSource& ids_;
  SchedulingClock& clock_;
  TaskRunner& task_runner_;
  // For each definition: fires to be claimed ahead, beside a run.
  std::unordered_map<DefinitionId, std::map<HandOutKey, WaitingJob>> early_;
};

}  // namespace carillon::jobtracker
