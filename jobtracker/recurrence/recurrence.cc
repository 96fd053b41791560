#include "jobtracker/recurrence/recurrence.h"

#include <algorithm>
#include <utility>

#include "shared/base/assert.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

constexpr Duration kClaimedAheadMax = std::chrono::seconds{1};
// Job trackers' clocks differ by less.
constexpr Duration kSetBackLeast = std::chrono::seconds{2};
const Error kGone{ErrorCode::kNotFound, "has just ended"};

// It may have been claimed ahead of its time, and must not be created again after a suspend and
// resume.
void note_fire(ActiveDefinition& definition, const WaitingJob& job) {
  if (is_fire(job)) definition.row.last_fire = std::max(definition.row.last_fire, job.trigger_time);
}

}  // namespace

Recurrence::Recurrence(RecurrenceConfig config, Catalog& catalog, const Ownership& ownership,
                       GroupMaker& groups, ExecutingTable& executing, Batcher& batcher,
                       JobSink& sink, FeedbackSink& feedback, RunStopper& stopper, IdSource& ids,
                       SchedulingClock& clock, TaskRunner& task_runner, const Logger& log)
    : catalog_(catalog),
      ownership_(ownership),
      executing_(executing),
      sink_(sink),
      clock_(clock),
      log_(log),
      promotion_(config.horizon, batcher, sink, clock, task_runner, log),
      clock_moved_back_(catalog, executing, batcher, sink, clock, task_runner, log),
      plans_(catalog, executing, feedback, ids, clock, down_time_, promotion_),
      changes_(plans_, catalog, executing, batcher, sink, feedback, stopper, clock, log,
               [this](WallTime fire) { generation_.count_ahead(fire); }),
      quarantine_(plans_, changes_, log),
      generation_(config, plans_, changes_, promotion_, catalog, batcher, ids, clock, task_runner,
                  log,
                  [this](ActiveDefinition& definition) { admission_.watch_next_fire(definition); }),
      admission_(config, down_time_, plans_, changes_, quarantine_, generation_, catalog, executing,
                 batcher, sink, feedback, stopper, ids, clock, task_runner),
      missed_(down_time_, plans_, changes_, promotion_, catalog, batcher, sink, clock, task_runner,
              log,
              [this](ActiveDefinition& definition) {
                admission_.watch_next_fire(definition);
                generation_.generate_later(definition.row.id);
              }),
      children_(plans_, changes_, catalog, ownership, groups, batcher, sink, ids, clock) {
  CARILLON_ASSERT(config.validate().ok(), "main validates every configuration");
}

void Recurrence::clock_was_set(Duration by) {
  std::vector<GroupId> groups;
  for (const auto& [id, group] : catalog_.groups()) {
    if (ownership_.has(id)) groups.push_back(id);
  }
  if (by < Duration{})
    clock_moved_back_.begin(std::move(groups), -by, promotion_.horizon_end() - by);
  generation_.clock_was_set();
}

// ---- after a restart ----

void Recurrence::start(const StartAnswer& found) {
  down_time_.begin(found, clock_.now());
  catalog_.start_definition_ids(found.definition_high, found.number);
  for (const auto& [id, definition] : catalog_.definitions()) go_on_with(*definition);
  for (const Definition& row : found.definitions) take_definition(row);
  take_runs(found);
  missed_.start();
  generation_.start(found);
  for (const auto& [id, group] : catalog_.groups()) {
    const WallTime last_word = ownership_.has(id) ? down_time_.from(id) : WallTime{};
    const Duration by = last_word - clock_.now();
    if (by > kSetBackLeast) clock_moved_back_.begin({id}, by, promotion_.horizon_end() + by);
  }
}

void Recurrence::stop() {
  missed_.stop();
  generation_.stop();
  promotion_.stop();
  clock_moved_back_.stop();
}

void Recurrence::take_definition(const Definition& row) {
  auto spec = wire::decode_spec(row.spec);
  if (!spec.ok()) {
    return log_.error("cannot read a stored definition; it will not fire", "task", row.task_id,
                      "error", spec.error().message);
  }
  auto schedule = CompiledSchedule::compile(spec.value().schedule, row.created_at);
  if (!schedule.ok()) {
    return log_.error("cannot read a stored schedule; it will not fire", "task", row.task_id,
                      "error", schedule.error().message);
  }
  go_on_with(catalog_.put_definition(row, std::move(spec.value()), std::move(schedule.value())));
}

void Recurrence::go_on_with(ActiveDefinition& definition) {
  const Definition& row = definition.row;
  const WallTime started = down_time_.until();
  // The clock was ahead: its fires must not be created again by a resume.
  const WallTime alive = down_time_.from(row.group);
  if (alive > started) {
    definition.row.last_fire =
        std::max(row.last_fire, std::min(row.generated_through, alive + kClaimedAheadMax));
  }
  if (!is_single(definition) && row.kind != ScheduleKind::kManual)
    generation_.count_ahead(definition.schedule, started, row.generated_through);
  missed_.add(definition);
}

void Recurrence::take_runs(const StartAnswer& found) {
  for (const ExecutingJob& executing : found.executing) {
    if (ActiveDefinition* definition = catalog_.definition(executing.job.definition)) {
      definition->put_run(executing.job);
      note_fire(*definition, executing.job);
    } else if (executing.job.definition) {
      catalog_.keep_outliving(executing.job);
    }
  }
  for (const WaitingJob& retry : found.retries) {
    ActiveDefinition* definition = catalog_.definition(retry.definition);
    if (definition != nullptr && !definition->supersedes(retry)) {
      definition->put_run(retry);
      note_fire(*definition, retry);
      if (was_lost_too_often(retry)) quarantine_.begin(retry, retry.lost);
    } else {
      admission_.end_void(retry);
    }
  }
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
  row.generated_through = now - kTick;  // A fire at exactly this time is in the future.
  if (const auto first = planned.schedule.first_fire(now)) {
    planned.operation.first = plans_.occurrence(row, spec.priority, *first);
    row.next_fire = *first;
    row.generated_through = *first;
    row.fired = 1;
  } else if (row.kind != ScheduleKind::kManual) {
    return Error{ErrorCode::kInvalidArgument, "the schedule has no future fire"};
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
  generation_.generate_later(definition.row.id);
}

void Recurrence::for_request(DefinitionId id, const ForRequest& request,
                             std::function<void(ActiveDefinition&)> then) {
  changes_.when_settled(id, std::move(then), [request] { request.on_request({}, &kGone); });
}

void Recurrence::suspend(DefinitionId id, ForRequest request) {
  for_request(id, request, [this, request](ActiveDefinition& definition) {
    if (is_held(definition.row.state)) {
      const bool is_suspended = definition.row.state == DefinitionState::kSuspended;
      const Error error{ErrorCode::kConflict,
                        is_suspended ? "is already suspended"
                                     : "is in quarantine and does not fire until it is resumed"};
      return request.on_request({}, &error);
    }
    changes_.change(
        definition,
        plans_.suspension(definition, DefinitionState::kSuspended, "the job was suspended"), {}, {},
        request);
  });
}

void Recurrence::resume(DefinitionId id, ForRequest request) {
  for_request(id, request, [this, request](ActiveDefinition& definition) {
    if (!is_held(definition.row.state)) {
      const Error error{ErrorCode::kConflict, "is not suspended"};
      return request.on_request({}, &error);
    }
    changes_.change(
        definition, plans_.resumption(definition), {},
        [this](const ChangeDefinition& changed, const Outcome&) {
          generation_.generate_later(changed.id);
        },
        request);
  });
}

void Recurrence::set_script(DefinitionId id, Run script, ForRequest request) {
  for_request(id, request, [this, script, request](ActiveDefinition& definition) {
    const JobSpec& spec = definition.spec;
    const WallTime now = clock_.now();
    // The current script becomes a version too, if an older program stored it.
    std::vector<Operation> with;
    with.emplace_back(
        PutScript{.definition = definition.row.id, .script = version_of(spec.run, now)});
    with.emplace_back(
        PutScript{.definition = definition.row.id, .script = version_of(script, now)});
    change_spec(
        definition, [script](JobSpec& changed) { changed.run = script; }, std::move(with), request);
  });
}

void Recurrence::change_spec(DefinitionId id, std::function<void(JobSpec&)> edit,
                             ForRequest request) {
  for_request(id, request, [this, edit = std::move(edit), request](ActiveDefinition& definition) {
    change_spec(definition, edit, {}, request);
  });
}

void Recurrence::change_spec(ActiveDefinition& definition,
                             const std::function<void(JobSpec&)>& edit, std::vector<Operation> with,
                             const ForRequest& request) {
  JobSpec spec = definition.spec;
  edit(spec);
  ChangeDefinition operation = plans_.change_of(definition);
  operation.expected_generated_through.reset();
  operation.to->spec = wire::encode_spec(spec);
  operation.spec_changed = true;
  changes_.change(
      definition, std::move(operation), std::move(with),
      [this, edit](const ChangeDefinition& changed, const Outcome& outcome) {
        ActiveDefinition* found = catalog_.definition(changed.id);
        if (found != nullptr && outcome.kind == OutcomeKind::kDone) edit(found->spec);
      },
      request);
}

void Recurrence::remove(DefinitionId id, std::string message, ForRequest request) {
  for_request(id, request,
              [this, message = std::move(message), request](ActiveDefinition& definition) {
                ChangeDefinition operation =
                    plans_.removal(definition, plans_.first_called_off(definition), message);
                operation.cancels_runs = true;
                // Their retries are void.
                for (const JobId run : operation.runs) ++executing_.find(run)->cancels;
                const auto done = [this, id = definition.row.id, runs = operation.runs, request](
                                      const RequestOutcome& outcome, const Error* refused) {
                  for (const JobId run : runs) {
                    if (Executing* entry = executing_.find(run)) --entry->cancels;
                  }
                  if (ActiveDefinition* still = catalog_.definition(id)) stays(*still);
                  request.on_request(outcome, refused);
                };
                definition.is_being_removed = true;
                changes_.change(definition, std::move(operation), {}, {},
                                ForRequest{.number = request.number, .on_request = done});
              });
}

void Recurrence::when_free(DefinitionId id, std::function<void()> then) {
  changes_.when_settled(
      id, [then](ActiveDefinition&) { then(); }, then);
}

ChangeDefinition Recurrence::begin_removal(DefinitionId id, std::string message,
                                           WallTime replaced_at) {
  ActiveDefinition* definition = catalog_.definition(id);
  CARILLON_ASSERT(definition != nullptr && !definition->is_changing,
                  "the caller waited for the change");
  definition->is_changing = definition->is_being_removed = true;
  definition->only_adds = false;
  definition->going_since = replaced_at;
  // Not a fire: it may belong to the replacement.
  return plans_.removal(*definition, clock_.now(), std::move(message));
}

void Recurrence::end_removal(const ChangeDefinition& operation, const Outcome* outcome) {
  ActiveDefinition* definition = catalog_.definition(operation.id);
  CARILLON_ASSERT(definition != nullptr, "only a definition's own change removes it");
  if (outcome != nullptr && outcome->kind == OutcomeKind::kDone) {
    changes_.apply(*definition, operation, *outcome);
  } else {
    stays(*definition);
    changes_.settled(*definition);
  }
}

// It was not removed: jobs that became due meanwhile get their turn.
void Recurrence::stays(ActiveDefinition& definition) {
  definition.is_being_removed = false;
  sink_.reload(definition.row.group);
}

WaitingJob Recurrence::triggered(const ActiveDefinition& definition, std::string spec,
                                 bool forced) {
  return plans_.triggered(definition, std::move(spec), forced);
}

void Recurrence::offer_triggered(WaitingJob run) { changes_.offer_triggered(std::move(run)); }

// ---- for completion ----

std::vector<Operation> Recurrence::with_end(const WaitingJob& job, WallTime ended, bool ran) {
  ActiveDefinition* definition = catalog_.definition(job.definition);
  if (definition == nullptr || definition->is_changing) return {};
  const bool makes_next =
      !job.triggered && is_single(*definition) && definition->row.state == DefinitionState::kActive;
  if (!makes_next && (ran || !is_fire(job))) return {};
  if (makes_next && ran && missed_.are_after(*definition, ended)) return {};
  definition->is_changing = definition->only_adds = true;
  std::vector<Operation> operations;
  if (!makes_next) {
    operations.emplace_back(plans_.uncounted(*definition));
    return operations;
  }
  // The worker's clock is used if it differs by at most a second: a run that ended just before a
  // fire must not pass over it.
  const WallTime now = clock_.now();
  const bool agrees = ended <= now && now - ended < std::chrono::seconds{1};
  const WallTime passed_over = missed_.passed_over_until(*definition, agrees ? ended : now, ended);
  operations.emplace_back(plans_.next_cycle(*definition, passed_over, ran));
  return operations;
}

void Recurrence::run_ended(const WaitingJob& job, WallTime ended, bool ran,
                           const std::vector<Operation>& with,
                           const std::vector<Outcome>& outcomes) {
  ActiveDefinition* definition = catalog_.definition(job.definition);
  if (definition == nullptr) return admission_.outliving_ended(job);
  definition->running.erase(job.id);
  const DefinitionId id = job.definition;
  if (ran) quarantine_.count_lost(*definition, job);
  if (!with.empty()) {
    const auto& changed = std::get<ChangeDefinition>(with.front());
    const bool done = outcomes.front().kind == OutcomeKind::kDone;
    if (done) changes_.apply(*definition, changed, outcomes.front());
    definition = catalog_.definition(id);
    if (definition == nullptr) return;
    changes_.settled(*definition);
  } else if (job.triggered ? !ran && job.makes_up : is_single(*definition) || !ran) {
    changes_.when_settled(id, [this, job, ended, ran](ActiveDefinition& one) {
      make_up_for_end(one, job, ended, ran);
    });
  }
  if (ActiveDefinition* still = catalog_.definition(id)) {
    admission_.unblock(*still);
    ran ? changes_.remove_if_over(id) : generation_.generate_later(id);
  }
}

void Recurrence::make_up_for_end(ActiveDefinition& definition, const WaitingJob& job,
                                 WallTime ended, bool ran) {
  const bool has_another = definition.regular && definition.regular != job.id;
  const bool makes_next = !job.triggered && is_single(definition) && !has_another &&
                          definition.row.state == DefinitionState::kActive;
  if (!makes_next && ran) return;
  if (makes_next && ran && missed_.are_after(definition, ended))
    return missed_.look_after(definition, ended);
  changes_.change(
      definition,
      makes_next ? plans_.next_cycle(definition, clock_.now(), ran) : plans_.uncounted(definition),
      {}, [this](const ChangeDefinition& changed, const Outcome&) {
        generation_.generate_later(changed.id);
      });
}

// Its definition may have changed while it was being requeued.
void Recurrence::runs_again(WaitingJob job) {
  const ActiveDefinition* definition = catalog_.definition(job.definition);
  const bool is_void = job.definition && (definition == nullptr || definition->supersedes(job));
  if (is_void) {
    if (definition == nullptr) admission_.outliving_ended(job);
    return admission_.end_void(std::move(job));
  }
  if (job.definition && was_lost_too_often(job)) return quarantine_.begin(job, job.lost);
  sink_.offer(std::move(job));
}

void Recurrence::not_ended(const WaitingJob& job) {
  if (ActiveDefinition* definition = catalog_.definition(job.definition))
    changes_.settled(*definition);
}

void Recurrence::children_were_stored(std::vector<WaitingJob> runs, bool done) {
  children_.children_were_stored(std::move(runs), done);
}

Sizes Recurrence::sizes() const {
  Sizes all;
  add_sizes(all, "admission", admission_.sizes());
  add_sizes(all, "changes", changes_.sizes());
  add_sizes(all, "generation", generation_.sizes());
  add_sizes(all, "missed", missed_.sizes());
  add_sizes(all, "children", children_.sizes());
  add_sizes(all, "set_back", clock_moved_back_.sizes());
  return all;
}

}  // namespace carillon::jobtracker
