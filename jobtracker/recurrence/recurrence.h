#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "jobtracker/recurrence/admission.h"
#include "jobtracker/recurrence/changes.h"
#include "jobtracker/recurrence/children.h"
#include "jobtracker/recurrence/down_time.h"
#include "jobtracker/recurrence/generation.h"
#include "jobtracker/recurrence/missed_fires.h"
#include "jobtracker/recurrence/plans.h"
#include "jobtracker/recurrence/promotion.h"
#include "jobtracker/recurrence/quarantine.h"
#include "jobtracker/recurrence/recurrence_config.h"
#include "jobtracker/recurrence/set_back.h"
#include "jobtracker/state/definitions.h"
#include "jobtracker/state/run_end.h"

namespace carillon::jobtracker {

// From definitions to occurrences: what people do to definitions, and what the end of a run means
// for its own.
//
// Definitions with overlap `skip` and those with a fixed delay are single: they have exactly one
// regular occurrence at any time while they are active, waiting or executing. The next one is made
// with the end of the last, from the schedule's own grid, in the same transaction. The others have
// all occurrences of the next ten minutes at any time (generation.h). An occurrence stands in its
// group's table ten minutes ahead at the most; before that, in the delayed table (promotion.h).
//
//   plans.h         what a change of a definition consists of
//   changes.h       makes them, one of each definition at a time
//   generation.h    occurrences ahead of their time
//   promotion.h     from the delayed table to the groups'
//   set_back.h      what waits when the clock was set back
//   admission.h     whether one that is due may run: overlap, deadlines
//   missed_fires.h  what came while no job tracker ran
//   children.h      what a success sets off
//   quarantine.h    what killed its task tracker too often
//
// Thread: the loop.
class Recurrence final : public Definitions, public RunEnd {
 public:
  Recurrence(RecurrenceConfig config, Catalog& catalog, const Ownership& ownership,
             GroupMaker& groups, ExecutingTable& executing, Batcher& batcher, JobSink& sink,
             FeedbackSink& feedback, RunStopper& stopper, IdSource& ids, SchedulingClock& clock,
             Executor& executor, const Logger& log);

  // After a restart: takes what the store has, looks for what was missed, and starts the passes.
  void start(const StartAnswer& found);
  // Nothing that can wait for the next session is begun any more; what is under way is stored.
  void stop();
  // Generates up to the horizon of the new time at once; what is to run now moves with a clock that
  // is set back.
  void clock_was_set(Duration by);
  // Triggers what other job trackers' jobs have set off.
  void take_inbox() { children_.take_inbox(); }
  // What was missed before the start has its outcomes.
  bool has_recovered() const { return missed_.are_all_known(); }
  std::int64_t quarantined() const { return quarantine_.begun(); }
  Gate& gate() { return admission_; }
  // A row was added to the delayed table.
  void was_delayed(const WaitingJob& job) { promotion_.was_delayed(job); }
  Sizes sizes() const;

  // ---- for intake ----
  Result<NewDefinition> plan(JobSpec spec, GroupId group, std::string task_id, bool keyed) override;
  void added(NewDefinition added) override;
  void suspend(DefinitionId id, ForRequest request) override;
  void resume(DefinitionId id, ForRequest request) override;
  void set_script(DefinitionId id, Run script, ForRequest request) override;
  void remove(DefinitionId id, std::string message, ForRequest request) override;
  void when_free(DefinitionId id, std::function<void()> then) override;
  ChangeDefinition begin_removal(DefinitionId id, std::string message,
                                 WallTime replaced_at) override;
  void end_removal(const ChangeDefinition& operation, const Outcome* outcome) override;
  WaitingJob triggered(const ActiveDefinition& definition, std::string spec, bool forced) override;
  void offer_triggered(WaitingJob run) override;
  void retry_ended(const WaitingJob& run) override { run_ended(run, clock_.now(), true, {}, {}); }
  void hold_promotion() override { promotion_.hold(); }
  void release_promotion() override { promotion_.release(); }
  WallTime horizon_end() const override { return promotion_.horizon_end(); }
  TimeHold hold_time(JobId id) override { return set_back_.hold_time(id); }
  void release_time(const TimeHold& hold, bool was_changed) override {
    set_back_.release_time(hold, was_changed);
  }

  // ---- for completion ----
  void keep_time(JobId id) override { set_back_.keep(id); }
  std::vector<Operation> with_end(const WaitingJob& job, WallTime ended, bool ran) override;
  void run_ended(const WaitingJob& job, WallTime ended, bool ran,
                 const std::vector<Operation>& with, const std::vector<Outcome>& outcomes) override;
  void runs_again(WaitingJob job) override;
  void not_ended(const WaitingJob& job) override;
  std::vector<std::string> unknown_groups(const WaitingJob& job) const override {
    return children_.unknown_groups(job);
  }
  SetOff set_off(const WaitingJob& job) override { return children_.set_off(job); }
  void was_set_off(std::vector<WaitingJob> runs, bool done) override;

 private:
  void take_definition(const Definition& row);
  void go_on_with(ActiveDefinition& definition);
  void take_runs(const StartAnswer& found);
  // Once no other change of it is under way. Who asked is told if it is gone by then.
  void for_request(DefinitionId id, const ForRequest& request,
                   std::function<void(ActiveDefinition&)> then);
  void stays(ActiveDefinition& definition);
  // Of a run that ended while its definition was being changed, or is suspended, or in a time
  // without a job tracker.
  void make_up_for_end(ActiveDefinition& definition, const WaitingJob& job, WallTime ended,
                       bool ran);

  Catalog& catalog_;
  const Ownership& ownership_;
  ExecutingTable& executing_;
  JobSink& sink_;
  SchedulingClock& clock_;
  const Logger& log_;
  DownTime down_time_{};
  Promotion promotion_;
  SetBack set_back_;
  Plans plans_;
  Changes changes_;
  Quarantine quarantine_;
  Generation generation_;
  Admission admission_;
  MissedFires missed_;
  Children children_;
};

}  // namespace carillon::jobtracker
