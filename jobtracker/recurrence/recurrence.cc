#include "jobtracker/recurrence/recurrence.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "shared/base/assert.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

constexpr WallTime kNever{};  // "none" in a row
// Passed-over fires are counted up to here, 11 days of a cron's each second: one by one, at once.
constexpr std::int64_t kCronCountMax = 1'000'000;
constexpr Duration kTick{1};
const Error kGone{ErrorCode::kNotFound, "has just ended"};

}  // namespace

Status RecurrenceConfig::validate() const {
  if (period >= horizon) {
    return Error{ErrorCode::kInvalidArgument,
                 "pregenerate-period must be shorter than pregenerate-horizon"};
  }
  return {};
}

Recurrence::Recurrence(RecurrenceConfig config, Catalog& catalog, const Ownership& ownership,
                       ExecutingTable& executing, Batcher& batcher, JobSink& sink,
                       FeedbackSink& feedback, RunStopper& stopper, IdSource& ids,
                       SchedulingClock& clock, Executor& executor, const Logger& log)
    : config_(config),
      catalog_(catalog),
      ownership_(ownership),
      executing_(executing),
      batcher_(batcher),
      sink_(sink),
      feedback_(feedback),
      stopper_(stopper),
      ids_(ids),
      clock_(clock),
      executor_(executor),
      log_(log) {
  CARILLON_ASSERT(config_.validate().ok(), "main validates every configuration");
}

bool Recurrence::is_single(const ActiveDefinition& definition) const {
  return definition.row.kind == ScheduleKind::kFixedDelay ||
         definition.spec.overlap == Overlap::kSkip;
}

bool Recurrence::is_exhausted(const ActiveDefinition& definition, std::int64_t fired) const {
  return definition.spec.schedule.count && fired >= *definition.spec.schedule.count;
}

WaitingJob Recurrence::occurrence(const Definition& row, int priority, WallTime trigger) {
  return occurrence(ids_.next_job(clock_.now()), row, priority, trigger);
}

WaitingJob Recurrence::occurrence(JobId id, const Definition& row, int priority, WallTime trigger) {
  return WaitingJob{.id = id,
                    .group = row.group,
                    .task_id = row.task_id,
                    .definition = row.id,
                    .version = row.version,
                    .kind = row.kind,
                    .priority = priority,
                    .trigger_time = trigger,
                    .delayed = trigger > horizon_end()};
}

LogEntry Recurrence::passed_over(const Definition& row, LogState state, WallTime first,
                                 std::int64_t count, std::string message) {
  return LogEntry{.id = ids_.next(clock_.now()),
                  .group = row.group,
                  .task_id = row.task_id,
                  .definition = row.id,
                  .state = state,
                  .trigger_time = first,
                  .ended_at = clock_.now(),
                  .message = std::move(message),
                  .count = count};
}

// ---- for intake ----

Result<NewDefinition> Recurrence::plan(JobSpec spec, GroupId group, std::string task_id,
                                       bool keyed) {
  const WallTime now = clock_.now();
  auto schedule = CARILLON_TRY(CompiledSchedule::compile(spec.schedule, now));
  NewDefinition planned{.schedule = std::move(schedule)};
  Definition& row = planned.operation.definition;
  row = Definition{.id = catalog_.next_definition_id(),
                   .group = group,
                   .task_id = std::move(task_id),
                   .keyed = keyed};
  row.kind = spec.schedule.kind;
  row.created_at = now;
  row.spec = wire::encode_spec(spec);
  row.generated_through = now - kTick;  // A fire at this very moment is still to come.
  if (const auto first = planned.schedule.first_fire(now)) {
    planned.operation.first = occurrence(row, spec.priority, *first);
    row.next_fire = *first;
    row.generated_through = *first;
    row.fired = 1;
  } else if (row.kind != ScheduleKind::kManual) {
    return Error{ErrorCode::kInvalidArgument, "the schedule has no fire to come"};
  }
  planned.spec = std::move(spec);
  return planned;
}

void Recurrence::added(NewDefinition added) {
  const std::optional<WaitingJob> first = added.operation.first;
  ActiveDefinition& definition = catalog_.put_definition(
      std::move(added.operation.definition), std::move(added.spec), std::move(added.schedule));
  if (first) {
    definition.regular = first->id;
    sink_.offer(*first);
  }
  generate_later(definition.row.id);
}

void Recurrence::suspend(DefinitionId id, ForRequest request) {
  const auto refusal = [](const Definition& row) -> Status {
    if (row.state == DefinitionState::kSuspended)
      return Error{ErrorCode::kConflict, "is suspended already"};
    if (row.state == DefinitionState::kQuarantined)
      return Error{ErrorCode::kConflict, "is in quarantine, and does not fire until it is resumed"};
    return {};
  };
  when_settled(
      id,
      [this, refusal, request](ActiveDefinition& definition) {
        if (const Status may = refusal(definition.row); !may.ok())
          return request.on_request({}, &may.error());
        change(definition,
               suspension(definition, DefinitionState::kSuspended, "the job was suspended"), {}, {},
               request);
      },
      [request] { request.on_request({}, &kGone); });
}

void Recurrence::set_script(DefinitionId id, Run script, ForRequest request) {
  when_settled(
      id,
      [this, script, request](ActiveDefinition& definition) {
        JobSpec spec = definition.spec;
        const WallTime now = clock_.now();
        // The one that it has is a version, too, when it was submitted to an older program.
        std::vector<Operation> with;
        with.emplace_back(
            PutScript{.definition = definition.row.id, .script = version_of(spec.run, now)});
        with.emplace_back(
            PutScript{.definition = definition.row.id, .script = version_of(script, now)});
        spec.run = script;
        ChangeDefinition operation = change_of(definition);
        operation.expected_generated_through.reset();
        operation.to->spec = wire::encode_spec(spec);
        operation.spec_changed = true;
        change(
            definition, std::move(operation), std::move(with),
            [this, script](const ChangeDefinition& changed, const Outcome& outcome) {
              ActiveDefinition* found = catalog_.definition(changed.id);
              if (found != nullptr && outcome.kind == OutcomeKind::kDone) found->spec.run = script;
            },
            request);
      },
      [request] { request.on_request({}, &kGone); });
}

ChangeDefinition Recurrence::suspension(ActiveDefinition& definition, DefinitionState state,
                                        std::string message) {
  ChangeDefinition operation = change_of(definition);
  operation.expected_generated_through.reset();
  operation.to->state = state;
  operation.to->version += 1;
  call_off(definition, operation,
           passed_over(definition.row, LogState::kCancelled, {}, 0, std::move(message)));
  operation.uncounts_voided = true;
  return operation;
}

// What waits goes. Fires that have come, and runs that wait for their retry, end with a log row;
// which those are the store knows, for some may be on their way into the table. So do fires that
// have come and have no occurrence, as the run before has not ended.
void Recurrence::call_off(ActiveDefinition& definition, ChangeDefinition& operation, LogEntry log) {
  const Definition& row = definition.row;
  if (row.state == DefinitionState::kActive && !is_exhausted(definition, row.fired)) {
    const bool waits = is_single(definition);
    end_without_occurrence(definition, operation, log.ended_at,
                           waits ? LogState::kSkipped : LogState::kCancelled,
                           waits ? kRunBefore : log.message);
  }
  log.id = ids_.next_many(log.ended_at, 1 + kVoidedRunsMax);
  feedback_.address(log, {.group = row.group, .task_id = row.task_id, .definition = row.id});
  operation.void_waiting = true;
  operation.voided = std::move(log);
}

// With nothing due the row is of `fire`.
ChangeDefinition Recurrence::removal(ActiveDefinition& definition, WallTime fire,
                                     std::string message) {
  ChangeDefinition operation = change_of(definition);
  operation.expected_generated_through.reset();
  operation.to.reset();
  for (const JobId run : catalog_.runs(definition)) {
    if (executing_.find(run) != nullptr) operation.runs.push_back(run);
  }
  const JobSpec& spec = definition.spec;
  operation.leaves_spec = spec.need_feedback || !spec.children.empty() || !spec.alarm.empty();
  call_off(definition, operation,
           passed_over(definition.row, LogState::kCancelled, fire, 1, std::move(message)));
  return operation;
}

// The first fire that does not come if the definition goes: what was claimed ahead of its time has
// an outcome of its own. With none to come it is now.
WallTime Recurrence::first_called_off(ActiveDefinition& definition) {
  const WallTime now = clock_.now();
  const Definition& row = definition.row;
  if (row.state != DefinitionState::kActive) return now;
  WallTime after = std::max(now, row.last_fire);
  for (const auto& [id, fire] : definition.running) after = std::max(after, fire);
  if (is_single(definition) && row.next_fire > after) return row.next_fire;
  if (is_exhausted(definition, row.fired)) return now;
  return definition.schedule.next_fire(after).value_or(now);
}

void Recurrence::resume(DefinitionId id, ForRequest request) {
  when_settled(
      id, [this, request](ActiveDefinition& definition) { resume_now(definition, request); },
      [request] { request.on_request({}, &kGone); });
}

void Recurrence::resume_now(ActiveDefinition& definition, const ForRequest& request) {
  if (!is_held(definition.row.state)) {
    const Error error{ErrorCode::kConflict, "is not suspended"};
    return request.on_request({}, &error);
  }
  const WallTime now = clock_.now();
  ChangeDefinition operation = change_of(definition);
  operation.expected_generated_through.reset();
  Definition& to = *operation.to;
  // Its version stays: what was triggered while it was suspended goes on.
  to.state = DefinitionState::kActive;
  // Rows generated ahead were voided, so that the fires from now on are to be generated again;
  // what ran is not repeated, also when the clock was set back.
  to.generated_through = std::max(now, to.last_fire);
  const auto next = is_exhausted(definition, to.fired) ? std::nullopt
                    : to.kind == ScheduleKind::kFixedDelay
                        ? definition.schedule.next_after_end(now)
                        : definition.schedule.next_fire(to.generated_through);
  if (is_single(definition) && has_regular_run(definition)) {
    to.next_fire = to.generated_through;  // Its end makes the next one, if there is one.
  } else if (!next) {
    to.next_fire = kNever;
    if (to.kind != ScheduleKind::kManual) to.state = DefinitionState::kEnded;
  } else if (is_single(definition)) {
    add_regular(definition, operation, *next);
  } else {
    to.next_fire = *next;
  }
  change(
      definition, std::move(operation), {},
      [this](const ChangeDefinition& changed, const Outcome&) { generate_later(changed.id); },
      std::move(request));
}

void Recurrence::remove(DefinitionId id, std::string message, ForRequest request) {
  when_settled(
      id,
      [this, message = std::move(message), request](ActiveDefinition& definition) {
        ChangeDefinition operation = removal(definition, first_called_off(definition), message);
        operation.cancels_runs = true;
        // None of them is tried again meanwhile.
        for (const JobId run : operation.runs) ++executing_.find(run)->cancels;
        change(
            definition, std::move(operation), {},
            [this](const ChangeDefinition& changed, const Outcome&) {
              for (const JobId run : changed.runs) {
                if (Executing* entry = executing_.find(run)) --entry->cancels;
              }
            },
            request);
      },
      [request] { request.on_request({}, &kGone); });
}

void Recurrence::when_free(DefinitionId id, std::function<void()> then) {
  when_settled(
      id, [then](ActiveDefinition&) { then(); }, then);
}

ChangeDefinition Recurrence::begin_removal(DefinitionId id, std::string message) {
  ActiveDefinition* definition = catalog_.definition(id);
  CARILLON_ASSERT(definition != nullptr && !definition->is_changing,
                  "the caller has waited for it");
  definition->is_changing = true;
  // No fire: it may be one of what replaces it.
  return removal(*definition, clock_.now(), std::move(message));
}

void Recurrence::end_removal(const ChangeDefinition& operation, const Outcome* outcome) {
  ActiveDefinition* definition = catalog_.definition(operation.id);
  CARILLON_ASSERT(definition != nullptr, "a definition goes only by its own change");
  if (outcome != nullptr && outcome->kind == OutcomeKind::kDone) {
    apply(*definition, operation, *outcome);
  } else {
    settled(*definition);
  }
}

// The schedule is over and nothing of it is left.
void Recurrence::drop(DefinitionId id) {
  when_settled(id, [this](ActiveDefinition& definition) {
    if (definition.row.state != DefinitionState::kEnded) return;  // A run of it did not count.
    ChangeDefinition operation = change_of(definition);
    operation.to.reset();
    change(definition, std::move(operation), {}, {});
  });
}

WaitingJob Recurrence::triggered(const ActiveDefinition& definition, std::string spec,
                                 bool forced) {
  WaitingJob job = occurrence(definition.row, kPriorityTriggered, clock_.now());
  job.triggered = true;
  job.forced = forced;
  job.spec = std::move(spec);
  return job;
}

// After its rows were voided: a claim that is still under way finds none.
bool Recurrence::has_regular_run(const ActiveDefinition& definition) {
  return std::any_of(definition.running.begin(), definition.running.end(), [this](const auto& run) {
    const Executing* entry = executing_.find(run.first);
    return entry != nullptr && entry->phase != Phase::kClaiming && !entry->row.job.triggered;
  });
}

// ---- the end of a run ----

ChangeDefinition Recurrence::next_cycle(ActiveDefinition& definition, WallTime after, bool ran) {
  ChangeDefinition operation = change_of(definition);
  Definition& to = *operation.to;
  if (!ran) to.fired -= 1;
  const bool is_delay = to.kind == ScheduleKind::kFixedDelay;
  const auto next = is_exhausted(definition, to.fired) ? std::nullopt
                    : is_delay
                        ? definition.schedule.next_after_end(after)
                        : definition.schedule.next_fire(std::max(after, to.generated_through));
  if (!next) {
    // It goes when nothing of it is left: a triggered run may still wait in the table.
    to.state = DefinitionState::kEnded;
    to.next_fire = kNever;
    return operation;
  }
  end_without_occurrence(definition, operation, *next - kTick, LogState::kSkipped, kRunBefore);
  add_regular(definition, operation, *next);
  return operation;
}

// The fires since the latest that was made have one row.
void Recurrence::end_without_occurrence(ActiveDefinition& definition, ChangeDefinition& operation,
                                        WallTime until, LogState state, std::string message) {
  const Definition& row = definition.row;
  if (row.kind == ScheduleKind::kFixedDelay) return;  // It fires when its run has ended.
  // A schedule that was over and is not, because a run did not count, goes on with a later one.
  const auto first = row.next_fire > row.generated_through
                         ? std::optional(row.next_fire)
                         : definition.schedule.next_fire(row.generated_through);
  if (!first || *first > until) return;
  const std::int64_t count_max =
      row.kind == ScheduleKind::kEvery ? std::numeric_limits<std::int64_t>::max() : kCronCountMax;
  const std::int64_t count = definition.schedule.count_fires(*first - kTick, until, count_max);
  operation.logs.push_back(passed_over(row, state, *first, count, std::move(message)));
}

void Recurrence::add_regular(const ActiveDefinition& definition, ChangeDefinition& operation,
                             WallTime fire) {
  Definition& to = *operation.to;
  to.next_fire = fire;
  to.generated_through = fire;
  to.fired += 1;
  operation.add.push_back(occurrence(to, definition.spec.priority, fire));
}

ChangeDefinition Recurrence::uncounted(ActiveDefinition& definition) {
  ChangeDefinition operation = change_of(definition);
  Definition& to = *operation.to;
  to.fired -= 1;
  if (to.state != DefinitionState::kEnded) return operation;
  // It was taken for the last one: another takes its place.
  const auto next = definition.schedule.next_fire(std::max(clock_.now(), to.generated_through));
  if (!next || is_exhausted(definition, to.fired)) return operation;
  to.state = DefinitionState::kActive;
  if (is_single(definition)) {
    add_regular(definition, operation, *next);
  } else {
    to.next_fire = *next;
  }
  return operation;
}

std::vector<Operation> Recurrence::with_end(const WaitingJob& job, WallTime ended, bool ran) {
  ActiveDefinition* definition = catalog_.definition(job.definition);
  if (definition == nullptr || definition->is_changing) return {};
  const bool makes_next =
      !job.triggered && is_single(*definition) && definition->row.state == DefinitionState::kActive;
  if (!makes_next && (ran || !is_fire(job))) return {};
  definition->is_changing = true;
  std::vector<Operation> operations;
  if (!makes_next) {
    operations.emplace_back(uncounted(*definition));
    return operations;
  }
  // The worker's clock is believed where it agrees with ours to a second: a run that ended just
  // before a fire does not pass over it.
  const WallTime now = clock_.now();
  const bool agrees = ended <= now && now - ended < std::chrono::seconds{1};
  operations.emplace_back(next_cycle(*definition, agrees ? ended : now, ran));
  return operations;
}

void Recurrence::run_ended(const WaitingJob& job, bool ran, const std::vector<Operation>& with,
                           const std::vector<Outcome>& outcomes) {
  ActiveDefinition* definition = catalog_.definition(job.definition);
  if (definition == nullptr) return outliving_ended(job);
  definition->running.erase(job.id);
  const DefinitionId id = job.definition;
  if (ran && job.version == definition->row.version) count_lost(*definition, job);
  if (!with.empty()) {
    const auto& changed = std::get<ChangeDefinition>(with.front());
    const bool done = outcomes.front().kind == OutcomeKind::kDone;
    if (done) apply(*definition, changed, outcomes.front());
    definition = catalog_.definition(id);
    if (definition == nullptr) return;
    settled(*definition);
  } else if (job.triggered ? !ran && job.makes_up : is_single(*definition) || !ran) {
    // It was being changed, or suspended, when the run ended.
    when_settled(
        id, [this, ran, ended = job.id, beside = job.triggered](ActiveDefinition& settled_one) {
          const bool has_another = settled_one.regular && settled_one.regular != ended;
          const bool makes_next = !beside && is_single(settled_one) && !has_another &&
                                  settled_one.row.state == DefinitionState::kActive;
          if (!makes_next && ran) return;
          change(settled_one,
                 makes_next ? next_cycle(settled_one, clock_.now(), ran) : uncounted(settled_one),
                 {}, [this](const ChangeDefinition& changed, const Outcome&) {
                   generate_later(changed.id);
                 });
        });
  }
  if (ActiveDefinition* still = catalog_.definition(id)) {
    unpark(*still);
    ran ? remove_if_over(id) : generate_later(id);
  }
}

// Its definition may have changed while it was on its way into the table.
void Recurrence::runs_again(WaitingJob job) {
  const ActiveDefinition* definition = catalog_.definition(job.definition);
  const bool is_void =
      job.definition && (definition == nullptr || definition->row.version != job.version);
  if (is_void) {
    if (definition == nullptr) outliving_ended(job);
    return end_void(std::move(job));
  }
  const int lost = job.lost + (definition == nullptr ? 0 : definition->lost_before);
  if (job.definition && lost >= kLostRunsMax) return quarantine(job, lost);
  sink_.offer(std::move(job));
}

// With cancel_running a run that was lost makes way for the next one before it is lost for the
// third time. What kills its task tracker does so all the same, and the one after it goes on with
// the count; a restart begins it again.
void Recurrence::count_lost(ActiveDefinition& definition, const WaitingJob& job) {
  if (definition.spec.overlap != Overlap::kCancelRunning) return;
  definition.lost_before = job.lost == 0 ? 0 : definition.lost_before + job.lost;
  const bool goes_on = definition.row.state == DefinitionState::kActive ||
                       definition.row.state == DefinitionState::kEnded;
  if (goes_on && definition.lost_before >= kLostRunsMax) quarantine(job, definition.lost_before);
}

// A suspension that nobody has asked for. Until it is on disk the job's row says what is to be
// done, and nobody is handed it.
void Recurrence::quarantine(const WaitingJob& job, int lost) {
  when_settled(job.definition, [this, job, lost](ActiveDefinition& definition) {
    if (definition.row.version != job.version) return;  // What changed it took the row out.
    definition.lost_before = 0;
    ++quarantined_;
    log_.warn("a task is in quarantine: the task tracker died each time it ran", "job",
              job.id.value, "task", job.task_id);
    change(definition,
           suspension(definition, DefinitionState::kQuarantined,
                      "in quarantine: the task tracker died in " + std::to_string(lost) +
                          " runs in a row of the job"),
           {}, {});
  });
}

void Recurrence::not_ended(const WaitingJob& job) {
  if (ActiveDefinition* definition = catalog_.definition(job.definition)) settled(*definition);
}

// An ended definition goes when nothing of it waits or runs any more, and its task id is free
// again.
void Recurrence::remove_if_over(DefinitionId id) {
  const auto is_over = [this, id] {
    const ActiveDefinition* one = catalog_.definition(id);
    return one != nullptr && one->row.state == DefinitionState::kEnded && one->running.empty() &&
           one->parked.empty() && one->triggers_under_way == 0;
  };
  if (!is_over()) return;
  const ActiveDefinition* definition = catalog_.definition(id);
  ReadOccurrences question{.definition = id, .group = definition->row.group, .limit = 1};
  batcher_.ask(question, [this, id, is_over](Result<ReadAnswer> answer) {
    if (!answer.ok() || !is_over()) return;
    if (std::get<JobsAnswer>(answer.value()).jobs.empty()) drop(id);
  });
}

Sizes Recurrence::sizes() const {
  Sizes all{{"waiting_changes", waiting_changes_.size()},
            {"ahead", ahead_.size()},
            {"to_generate", to_generate_.size()},
            {"rows_under_way", rows_under_way_},
            {"taken_inbox", taken_inbox_.size()},
            {"to_recover", to_recover_.size()},
            {"recovering", recovering_.size()}};
  add_sizes(all, "children", children_.sizes());
  return all;
}

}  // namespace carillon::jobtracker
