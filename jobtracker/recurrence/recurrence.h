#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "jobtracker/recurrence/changes.h"
#include "jobtracker/recurrence/children.h"
#include "jobtracker/recurrence/clock_moved_back.h"
#include "jobtracker/recurrence/down_time.h"
#include "jobtracker/recurrence/generation.h"
#include "jobtracker/recurrence/missed_fires.h"
#include "jobtracker/recurrence/overlap_admission.h"
#include "jobtracker/recurrence/plans.h"
#include "jobtracker/recurrence/promotion.h"
#include "jobtracker/recurrence/quarantine.h"
#include "jobtracker/recurrence/recurrence_config.h"
#include "jobtracker/state/definitions.h"
#include "jobtracker/state/run_completion_handler.h"

namespace carillon::jobtracker {

// Creates occurrences from definitions: handles changes of definitions and the ends of their runs.
//
// Definitions with overlap `skip` and those with a fixed delay are single: an active one always has
// exactly one regular occurrence, waiting or executing. The transaction that ends it creates the
// next one from the schedule. The others always have all occurrences of the next ten minutes
// (generation.h). An occurrence is in its group's table at most ten minutes ahead; before that it
// is in the delayed table (promotion.h).
//
//   plans.h         what a change of a definition consists of
//   changes.h       executes changes, one of each definition at a time
//   generation.h    creates occurrences ahead of their time
//   promotion.h     moves jobs from the delayed table to the groups' tables
//   clock_moved_back.h      adjusts waiting jobs after the clock moved back
//   overlap_admission.h     admission policy: overlap, deadlines
//   missed_fires.h  fires that were due while no job tracker ran
//   children.h      triggers children after a success
//   quarantine.h    suspends jobs that kill their task trackers
//
// Thread: the loop.
class Recurrence final : public Definitions, public RunCompletionHandler {
 public:
  Recurrence(RecurrenceConfig config, Catalog& catalog, const Ownership& ownership,
             GroupMaker& groups, ExecutingTable& executing, Batcher& batcher, JobSink& sink,
             FeedbackSink& feedback, RunStopper& stopper, IdSource& ids, SchedulingClock& clock,
             TaskRunner& task_runner, const Logger& log);

  // After a restart: loads the definitions, checks for missed fires, and starts the passes.
  void start(const StartAnswer& found);
  // Starts nothing that can wait for the next session; pending changes are still stored.
  void stop();
  // Generates up to the horizon of the new time immediately. If the clock moved back, due jobs move
  // with it.
  void clock_was_set(Duration by);
  // Triggers children of other job trackers' jobs.
  void take_inbox() { children_.take_inbox(); }
  // Whether the fires that were missed before the start have outcomes.
  bool has_recovered() const { return missed_.are_all_known(); }
  std::int64_t quarantined() const { return quarantine_.begun(); }
  AdmissionPolicy& admission() { return admission_; }
  // A row was added to the delayed table.
  void was_delayed(const WaitingJob& job) { promotion_.was_delayed(job); }
  Sizes sizes() const;

  // ---- for intake ----
  Result<NewDefinition> plan(JobSpec spec, GroupId group, std::string task_id, bool keyed) override;
  void added(NewDefinition added) override;
  void suspend(DefinitionId id, ForRequest request) override;
  void resume(DefinitionId id, ForRequest request) override;
  void set_script(DefinitionId id, Run script, ForRequest request) override;
  void change_spec(DefinitionId id, std::function<void(JobSpec&)> edit,
                   ForRequest request) override;
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
  TimeHold hold_time(JobId id) override { return clock_moved_back_.hold_time(id); }
  void release_time(const TimeHold& hold, bool was_changed) override {
    clock_moved_back_.release_time(hold, was_changed);
  }

  // ---- for completion ----
  void keep_time(JobId id) override { clock_moved_back_.keep(id); }
  std::vector<Operation> with_end(const WaitingJob& job, WallTime ended, bool ran) override;
  void run_ended(const WaitingJob& job, WallTime ended, bool ran,
                 const std::vector<Operation>& with, const std::vector<Outcome>& outcomes) override;
  void runs_again(WaitingJob job) override;
  void not_ended(const WaitingJob& job) override;
  std::vector<std::string> unknown_groups(const WaitingJob& job) const override {
    return children_.unknown_groups(job);
  }
  TriggeredChildren trigger_children(const WaitingJob& job) override {
    return children_.trigger_children(job);
  }
  void children_were_stored(std::vector<WaitingJob> runs, bool done) override;

 private:
  void change_spec(ActiveDefinition& definition, const std::function<void(JobSpec&)>& edit,
                   std::vector<Operation> with, const ForRequest& request);
  void take_definition(const Definition& row);
  void go_on_with(ActiveDefinition& definition);
  void take_runs(const StartAnswer& found);
  // Runs when no other change of the definition is in progress. The client gets an error if the
  // definition is removed by then.
  void for_request(DefinitionId id, const ForRequest& request,
                   std::function<void(ActiveDefinition&)> then);
  void stays(ActiveDefinition& definition);
  // For a run that ended while its definition was being changed, or is suspended, or while no job
  // tracker ran.
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
  ClockMovedBack clock_moved_back_;
  Plans plans_;
  Changes changes_;
  Quarantine quarantine_;
  Generation generation_;
  OverlapAdmission admission_;
  MissedFires missed_;
  Children children_;
};

}  // namespace carillon::jobtracker
