#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jobtracker/recurrence/occurrence_ids.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/child_graph.h"
#include "jobtracker/state/definitions.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/feedback_sink.h"
#include "jobtracker/state/gate.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/state/job_sink.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/run_end.h"
#include "jobtracker/state/run_stopper.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"
#include "shared/runtime/executor.h"

namespace carillon::jobtracker {

// Of what is skipped for a run before it, which may not have begun either.
inline constexpr const char* kRunBefore = "the run before was still waiting or running";

struct RecurrenceConfig {
  // How far ahead occurrences stand in the executable tables. Longer means larger tables, and more
  // rows to void when a job is changed.
  Duration horizon = std::chrono::minutes{10};
  // How often the next stretch is generated; shorter than the horizon, so that none is ever late.
  Duration period = std::chrono::minutes{9};
  // Rows generated ahead of their time, of all definitions; when there are so many, only what fires
  // within seconds is added, and the passes come more often.
  std::int64_t rows_max = 200'000;
  // Occurrences of one definition that may be held in memory; by overlap `queue` more are skipped.
  std::size_t parked_max = 1'000;

  Status validate() const;
};

// From definitions to occurrences.
//
// Definitions with overlap `skip` and those with a fixed delay are single: they have exactly one
// regular occurrence at any time while they are active, waiting or executing. The next one is made
// with the end of the last, from the schedule's own grid. Those with overlap `parallel` and `queue`
// have all occurrences of the next ten minutes generated, every nine minutes, and the first one at
// once. An occurrence stands in its group's table ten minutes ahead at the most; before that, in
// the delayed table.
//
// What becomes of a fire that comes while a run before it has not ended, its retries included, is
// the overlap's to say (admission.cc); it is decided when the fire is due and has its turn, not
// when it is made:
//   parallel        it runs beside it
//   skip            it is skipped, and the next one is the first of the grid after the end
//   queue           it waits, in their order; beyond a cap it is skipped
//   queue_one       it waits, and of those that wait all but the latest are skipped
//   cancel_running  as queue_one, and the run before is told to stop, as soon as the fire is due;
//                   its retries are void
// What waits for a thread only keeps its place among the jobs of other tasks.
// What is triggered obeys it too, but waits where `skip` would skip it; with force it runs at once.
// The runs before are those of the task: they count also when the definition was replaced
// meanwhile, and after a restart. A count is of runs: what is skipped, expires or is voided before
// it ran does not count, and another takes its place.
//
// Invariants, all kept by the transaction that writes the rows:
//  - generated_through is the latest fire that has, or had, an occurrence; a repeat of a generation
//    conflicts with it and does nothing.
//  - next_fire is the first fire that has none; of a single definition, the fire of its regular
//    occurrence, which is generated_through.
//
// After a restart, fires whose time came while no job tracker ran are missed if they are more than
// the job's threshold ago; its misfire policy says what becomes of them (misfire.cc). Until all
// have their outcomes, a crash is as if this session had not been: the next one looks for the same.
//
// Thread: the loop.
class Recurrence final : public Definitions, public Gate, public RunEnd {
 public:
  Recurrence(RecurrenceConfig config, Catalog& catalog, const Ownership& ownership,
             ExecutingTable& executing, Batcher& batcher, JobSink& sink, FeedbackSink& feedback,
             RunStopper& stopper, IdSource& ids, SchedulingClock& clock, Executor& executor,
             const Logger& log);

  // After a restart: takes what the store has, looks for what was missed, and starts the passes.
  void start(const StartAnswer& found);
  // Generates up to the horizon of the new time at once.
  void clock_was_set();
  // Triggers what other job trackers' jobs have set off.
  void take_inbox();
  // What was missed before the start has its outcomes.
  bool has_recovered() const { return recovering_.empty(); }
  std::int64_t quarantined() const { return quarantined_; }

  // ---- for intake ----
  Result<NewDefinition> plan(JobSpec spec, GroupId group, std::string task_id, bool keyed) override;
  void added(NewDefinition added) override;
  void suspend(DefinitionId id, ForRequest request) override;
  void resume(DefinitionId id, ForRequest request) override;
  void set_script(DefinitionId id, Run script, ForRequest request) override;
  void remove(DefinitionId id, std::string message, ForRequest request) override;
  void when_free(DefinitionId id, std::function<void()> then) override;
  ChangeDefinition begin_removal(DefinitionId id, std::string message) override;
  void end_removal(const ChangeDefinition& operation, const Outcome* outcome) override;
  WaitingJob triggered(const ActiveDefinition& definition, std::string spec, bool forced) override;
  void offer_triggered(WaitingJob run) override;
  void hold_promotion() override { ++promotion_held_; }
  void release_promotion() override;
  WallTime horizon_end() const override { return clock_.now() + config_.horizon; }

  // ---- for dispatch ----
  bool admit(WaitingJob& job, WallTime now) override;
  bool is_missed(const WaitingJob& job) const override;
  bool expire(WaitingJob job) override;
  void was_not_claimed(const WaitingJob& job) override;

  // ---- for completion ----
  std::vector<Operation> with_end(const WaitingJob& job, WallTime ended, bool ran) override;
  void run_ended(const WaitingJob& job, bool ran, const std::vector<Operation>& with,
                 const std::vector<Outcome>& outcomes) override;
  void runs_again(WaitingJob job) override;
  void not_ended(const WaitingJob& job) override;
  SetOff set_off(const WaitingJob& job) override;
  void was_set_off(std::vector<WaitingJob> runs, bool done) override;
  Sizes sizes() const;

 private:
  using Then = std::function<void(const ChangeDefinition&, const Outcome&)>;
  using Work = std::function<void(ActiveDefinition&)>;
  struct WaitingChange {
    Work work{};
    std::function<void()> on_gone{};
  };

  // One change of a definition at a time; others wait for it. `on_gone` comes instead if the
  // definition was removed meanwhile.
  void when_settled(DefinitionId id, Work work, std::function<void()> on_gone = {});
  void settled(ActiveDefinition& definition);
  void go_on(DefinitionId id);
  void change(ActiveDefinition& definition, ChangeDefinition operation, std::vector<Operation> with,
              Then then, std::optional<ForRequest> request = std::nullopt);
  void drop(DefinitionId id);
  void forget_removed(const std::vector<Operation>& operations);
  void apply(ActiveDefinition& definition, const ChangeDefinition& operation,
             const Outcome& outcome);
  ChangeDefinition change_of(const ActiveDefinition& definition) const;

  void resume_now(ActiveDefinition& definition, const ForRequest& request);
  void call_off(ActiveDefinition& definition, ChangeDefinition& operation, LogEntry log);
  ChangeDefinition suspension(ActiveDefinition& definition, DefinitionState state,
                              std::string message);
  ChangeDefinition removal(ActiveDefinition& definition, WallTime fire, std::string message);
  WallTime first_called_off(ActiveDefinition& definition);
  void end_without_occurrence(ActiveDefinition& definition, ChangeDefinition& operation,
                              WallTime until, LogState state, std::string message);
  void quarantine(const WaitingJob& job, int lost);
  void count_lost(ActiveDefinition& definition, const WaitingJob& job);
  WaitingJob occurrence(const Definition& row, int priority, WallTime trigger);
  WaitingJob occurrence(JobId id, const Definition& row, int priority, WallTime trigger);
  LogEntry passed_over(const Definition& row, LogState state, WallTime first, std::int64_t count,
                       std::string message);
  bool is_single(const ActiveDefinition& definition) const;
  bool is_exhausted(const ActiveDefinition& definition, std::int64_t fired) const;

  // The change that follows the end of the single regular run, at `after`.
  // `ran`: it was a run, and counts as one.
  ChangeDefinition next_cycle(ActiveDefinition& definition, WallTime after, bool ran);
  // The change that follows a run which never was one: another takes its place.
  ChangeDefinition uncounted(ActiveDefinition& definition);
  // The regular occurrence of a single definition; `to` is the row to come.
  void add_regular(const ActiveDefinition& definition, ChangeDefinition& operation, WallTime fire);
  // The next rows of those that are to have more.
  void generate_some();
  void generate(ActiveDefinition& definition);
  // In its turn, when no change of it is under way: what it has to have, or its removal if it is
  // over.
  void generate_later(DefinitionId id);
  void reconcile(DefinitionId id, Duration age);
  void count_ahead(WallTime fire);
  std::int64_t rows_ahead();
  void pass_within(Duration time);
  bool has_regular_run(const ActiveDefinition& definition);
  void pass();
  void pass_once();
  void pass_some(DefinitionId after);
  void promote();
  void promote_again();
  void remove_if_over(DefinitionId id);

  // children.cc
  void take_relayed(const InboxRow& row);
  void pass_on(const InboxRow& row, GroupId part);
  void end_relayed(const InboxRow& row, GroupId part, const std::string& why_not);
  std::string why_not_set_off(const ActiveDefinition* definition,
                              const ChildGraph::Foreign& foreign) const;

  bool admit_one_shot(WaitingJob& job, WallTime now);
  void end_one_shot(WaitingJob job);
  bool park(ActiveDefinition& definition, const WaitingJob& job, std::size_t most);
  void watch_next_fire(ActiveDefinition& definition);
  void fire_came(DefinitionId id, std::int32_t version, WallTime fire);
  void keep_latest(ActiveDefinition& definition);
  void make_way(ActiveDefinition& definition);
  void end_retry(ActiveDefinition& definition, WaitingJob job);
  void unpark(ActiveDefinition& definition);
  void outliving_ended(const WaitingJob& job);
  void end_void(WaitingJob job);
  void skip_fire(ActiveDefinition& definition, WaitingJob job, LogState state, std::string message);
  void skip_uncounted(ActiveDefinition& definition, WaitingJob job, LogState state,
                      std::string message);
  void leave_with(ActiveDefinition& definition, const WaitingJob& job, LogEntry entry,
                  ChangeDefinition operation, std::function<void(DefinitionId)> then);
  void end_waiting(WaitingJob job, LogState state, std::string message);
  void left(ActiveDefinition& definition, JobId id);

  // misfire.cc
  WallTime dead_from(GroupId group) const;
  bool was_missed(GroupId group, WallTime trigger, Duration threshold) const;
  void recover(ActiveDefinition& definition);
  void recover_next();
  struct Missed;
  void recover_with(DefinitionId id, const std::vector<WaitingJob>& waiting);
  void leap_to_newest(ActiveDefinition& definition, Missed& missed);
  void count_missed(const std::shared_ptr<Missed>& missed);
  void settle_missed(ActiveDefinition& definition, Missed& missed);
  void plan_after_missed(ActiveDefinition& definition, ChangeDefinition& operation,
                         bool has_regular, WallTime until);
  void recovered(DefinitionId id, const std::set<JobId>& gone);

  RecurrenceConfig config_;
  Catalog& catalog_;
  const Ownership& ownership_;
  ExecutingTable& executing_;
  Batcher& batcher_;
  ChildGraph children_{catalog_, ownership_, batcher_};
  JobSink& sink_;
  FeedbackSink& feedback_;
  RunStopper& stopper_;
  IdSource& ids_;
  SchedulingClock& clock_;
  Executor& executor_;
  const Logger& log_;
  std::unordered_map<DefinitionId, std::vector<WaitingChange>> waiting_changes_;
  std::map<WallTime, std::int64_t> ahead_;  // rows generated, by the second that they are due in
  std::int64_t quarantined_ = 0;
  std::int64_t rows_ahead_ = 0;  // of these; those that were voided count until then
  OccurrenceIds occurrence_ids_{ids_};
  std::set<std::pair<WallTime, DefinitionId>> to_generate_;  // by when their rows end
  std::size_t rows_under_way_ = 0;                           // generated, on their way to the store
  bool generates_later_ = false;
  TimerId pass_timer_ = 0;
  SteadyTime pass_at_{};
  bool is_taking_inbox_ = false;
  std::set<std::int64_t> taken_inbox_;  // on their way out of the store
  bool is_promoting_ = false;
  bool promotes_later_ = false;
  int promotion_held_ = 0;
  // Fires from dead_from() to started_at_, less the threshold, came while no job tracker ran.
  WallTime last_alive_{};
  std::map<std::int32_t, WallTime> last_alive_of_{};  // partitions where it is another time
  WallTime started_at_{};
  std::vector<DefinitionId> to_recover_;
  std::set<DefinitionId> recovering_;  // and those that have begun
};

}  // namespace carillon::jobtracker
