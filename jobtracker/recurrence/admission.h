#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include "jobtracker/recurrence/down_time.h"
#include "jobtracker/recurrence/generation.h"
#include "jobtracker/recurrence/quarantine.h"
#include "jobtracker/state/gate.h"
#include "jobtracker/state/run_stopper.h"

namespace carillon::jobtracker {

// Whether a job that has come due may run now: overlap, start deadlines, what was voided or missed.
//
// What becomes of a fire that comes while a run before it has not ended, its retries included, is
// the overlap's to say. It is decided when the fire is due and has its turn, not when its
// occurrence is made:
//   parallel        it runs beside it
//   skip            it is skipped, and the next one is the first of the grid after the end
//   queue           it waits, in their order; beyond a cap it is skipped
//   queue_one       it waits, and of those that wait all but the latest are skipped
//   cancel_running  as queue_one, and the run before is told to stop, as soon as the fire is due;
//                   its retries are void
// What waits for a thread only keeps its place among the jobs of other tasks. What is triggered
// obeys it too, but waits where `skip` would skip it; with force it runs at once. The runs before
// are those of the task: they count also when the definition was replaced meanwhile, and after a
// restart. A count is of runs: what is skipped, expires or is voided before it ran does not count,
// and another takes its place.
//
// Thread: the loop.
class Admission final : public Gate {
 public:
  Admission(RecurrenceConfig config, const DownTime& down_time, Plans& plans, Changes& changes,
            Quarantine& quarantine, Generation& generation, Catalog& catalog,
            ExecutingTable& executing, Batcher& batcher, JobSink& sink, FeedbackSink& feedback,
            RunStopper& stopper, IdSource& ids, SchedulingClock& clock, Executor& executor);

  // ---- for dispatch ----
  bool admit(WaitingJob& job, WallTime now) override;
  bool is_missed(const WaitingJob& job) const override;
  bool expire(WaitingJob job) override;
  void was_not_claimed(const WaitingJob& job) override;

  // A run has ended, so what has waited for it may have its turn.
  void unpark(ActiveDefinition& definition);
  // The same of a run whose definition was replaced or removed: what has its task id by now has
  // waited for it.
  void outliving_ended(const WaitingJob& job);
  // With cancel_running, what runs is told to stop when the next fire comes, though no thread is
  // free for that one: it may be the run that has the last.
  void watch_next_fire(ActiveDefinition& definition);
  // Its definition was suspended or removed, and its row went with that; but a retry or a triggered
  // run that was on its way into the table at that moment has come too late to be voided.
  void end_void(WaitingJob job);
  Sizes sizes() const { return {{"early", early_.size()}}; }

 private:
  bool admit_one_shot(WaitingJob& job, WallTime now);
  bool admit_beside(ActiveDefinition& definition, WaitingJob& job, WallTime now);
  void keep_early(const WaitingJob& job);
  void offer_early(DefinitionId definition, const HandOutKey& key);
  bool park(ActiveDefinition& definition, const WaitingJob& job, std::size_t most);
  void keep_latest(ActiveDefinition& definition);
  void make_way(ActiveDefinition& definition);
  void fire_came(DefinitionId id, std::int32_t version, WallTime fire);

  // Ends without a run, or without the rest of its tries.
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
  Executor& executor_;
  // Of each definition, fires that were to be claimed before their time, beside a run.
  std::unordered_map<DefinitionId, std::map<HandOutKey, WaitingJob>> early_;
};

}  // namespace carillon::jobtracker
