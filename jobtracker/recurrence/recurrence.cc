#include "jobtracker/recurrence/recurrence.h"

#include <algorithm>
#include <utility>

#include "shared/base/assert.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

constexpr WallTime kNever{};                   // "none" in a row
constexpr std::int64_t kCountMax = 1'000'000;  // passed-over fires are counted up to here
constexpr std::size_t kRowsAtOnce = 500;       // generated in one operation
constexpr int kDefinitionsAtOnce = 500;        // looked at in one turn of a pass
constexpr std::int64_t kPromotedAtOnce = 1000;
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

Recurrence::Recurrence(RecurrenceConfig config, Catalog& catalog, ExecutingTable& executing,
                       Batcher& batcher, JobSink& sink, IdSource& ids, SchedulingClock& clock,
                       Executor& executor, const Logger& log)
    : config_(config),
      catalog_(catalog),
      executing_(executing),
      batcher_(batcher),
      sink_(sink),
      ids_(ids),
      clock_(clock),
      executor_(executor),
      log_(log) {
  CARILLON_ASSERT(config_.validate().ok(), "main validates every configuration");
}

Duration Recurrence::horizon() const {
  const double rows = rows_per_second_ * static_cast<double>(config_.horizon.count()) / 1e6;
  if (rows <= static_cast<double>(config_.rows_max)) return config_.horizon;
  const double share = static_cast<double>(config_.rows_max) / rows;
  return Duration{static_cast<Duration::rep>(static_cast<double>(config_.horizon.count()) * share)};
}

bool Recurrence::is_single(const ActiveDefinition& definition) const {
  return definition.row.kind == ScheduleKind::kFixedDelay ||
         definition.spec.overlap == Overlap::kSkip;
}

bool Recurrence::is_exhausted(const ActiveDefinition& definition, std::int64_t fired) const {
  return definition.spec.schedule.count && fired >= *definition.spec.schedule.count;
}

WaitingJob Recurrence::occurrence(const Definition& row, int priority, WallTime trigger) {
  return WaitingJob{.id = ids_.next_job(clock_.now()),
                    .group = row.group,
                    .task_id = row.task_id,
                    .definition = row.id,
                    .version = row.version,
                    .kind = row.kind,
                    .priority = priority,
                    .trigger_time = trigger};
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

// ---- changes of a definition, one at a time ----

void Recurrence::when_settled(DefinitionId id, Work work, std::function<void()> on_gone) {
  ActiveDefinition* definition = catalog_.definition(id);
  if (definition == nullptr) {
    if (on_gone) on_gone();
    return;
  }
  if (definition->is_changing) {
    waiting_changes_[id].push_back({std::move(work), std::move(on_gone)});
  } else {
    work(*definition);
  }
}

void Recurrence::settled(ActiveDefinition& definition) {
  definition.is_changing = false;
  const DefinitionId id = definition.row.id;
  const auto found = waiting_changes_.find(id);
  if (found == waiting_changes_.end()) return;
  auto work = std::move(found->second);
  waiting_changes_.erase(found);
  for (WaitingChange& one : work) when_settled(id, std::move(one.work), std::move(one.on_gone));
}

ChangeDefinition Recurrence::change_of(const ActiveDefinition& definition) const {
  return ChangeDefinition{.id = definition.row.id,
                          .expected_version = definition.row.version,
                          .expected_generated_through = definition.row.generated_through,
                          .to = definition.row,
                          .group = definition.row.group};
}

// `with` operations go into the same transaction, before the change.
void Recurrence::change(ActiveDefinition& definition, ChangeDefinition operation,
                        std::vector<Operation> with, Then then, std::optional<ForRequest> request) {
  CARILLON_ASSERT(!definition.is_changing, "changes of a definition wait for each other");
  definition.is_changing = true;
  const DefinitionId id = definition.row.id;
  with.push_back(std::move(operation));
  auto on_unit = [this, then = std::move(then)](std::vector<Operation>& operations,
                                                const std::vector<Outcome>& outcomes,
                                                const Error* refused) {
    const auto& changed = std::get<ChangeDefinition>(operations.back());
    forget_removed(operations);
    ActiveDefinition* found = catalog_.definition(changed.id);
    CARILLON_ASSERT(found != nullptr, "a definition goes only by its own change");
    if (outcomes.back().kind == OutcomeKind::kDone) {
      apply(*found, changed);
    } else {
      log_.error("a definition was not changed", "task", found->row.task_id, "reason",
                 refused != nullptr ? refused->message : "the store has it otherwise");
    }
    if (then) then(changed, outcomes.back());
    if (ActiveDefinition* still = catalog_.definition(changed.id)) settled(*still);
  };
  if (!request) {
    batcher_.post_unit(Urgency::kCompletion, std::move(with), std::move(on_unit));
    return;
  }
  auto on_request = [this, id, answer = std::move(request->on_request)](
                        const RequestOutcome& outcome, const Error* refused) {
    answer(outcome, refused);
    ActiveDefinition* found = catalog_.definition(id);
    if (outcome.answered_before && found != nullptr) settled(*found);
  };
  batcher_.post_request(Urgency::kRequest, std::move(request->number), std::move(with),
                        std::move(on_request), std::move(on_unit));
}

// A read that ran before the commit may have brought a removed row into memory again.
void Recurrence::forget_removed(const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    if (const auto* removed = std::get_if<ChangeWaiting>(&operation))
      sink_.forget(removed->from.group, removed->from.id);
  }
}

// The store has it: so has the memory.
void Recurrence::apply(ActiveDefinition& definition, const ChangeDefinition& operation) {
  if (!operation.to) {
    rows_per_second_ -= std::exchange(rates_[definition.row.id], 0.0);
    rates_.erase(definition.row.id);
    const auto left = waiting_changes_.extract(definition.row.id);
    catalog_.remove_definition(definition.row.id);
    if (left.empty()) return;
    for (const WaitingChange& one : left.mapped()) {
      if (one.on_gone) one.on_gone();
    }
    return;
  }
  const WallTime last_fire = definition.row.last_fire;
  std::string spec = std::move(definition.row.spec);
  definition.row = *operation.to;
  if (!operation.spec_changed) definition.row.spec = std::move(spec);
  definition.row.last_fire = std::max(last_fire, definition.row.last_fire);
  if (operation.void_waiting) {
    definition.parked.clear();
    // A run that waited for its retry went with its row: no end of it will come.
    std::erase_if(definition.running,
                  [this](JobId one) { return executing_.find(one) == nullptr; });
  }
  for (const WaitingJob& job : operation.add) sink_.offer(job);
}

// ---- for intake ----

Result<NewDefinition> Recurrence::plan(JobSpec spec, GroupId group, std::string task_id,
                                       bool keyed) {
  const WallTime now = clock_.now();
  NewDefinition planned{.schedule = CARILLON_TRY(CompiledSchedule::compile(spec.schedule, now))};
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
    row.next_fire = *first;
    if (*first <= now + horizon()) {
      planned.operation.first = occurrence(row, spec.priority, *first);
      row.generated_through = *first;
      row.fired = 1;
    }
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
  if (first) sink_.offer(*first);
  if (is_single(definition) || definition.row.kind == ScheduleKind::kManual) return;
  const WallTime now = clock_.now();
  const double rate = static_cast<double>(definition.schedule.count_fires(
                          now, now + std::chrono::minutes{1}, 60'000)) /
                      60.0;
  rates_[definition.row.id] = rate;
  rows_per_second_ += rate;
  generate(definition, now + horizon());
}

Status Recurrence::suspend(DefinitionId id, ForRequest request) {
  ActiveDefinition* definition = catalog_.definition(id);
  if (definition->is_changing) {
    when_settled(
        id,
        [this, request](ActiveDefinition& later) {
          const Status status = suspend(later.row.id, request);
          if (!status.ok()) request.on_request({}, &status.error());
        },
        [request] { request.on_request({}, &kGone); });
    return {};
  }
  if (definition->row.state == DefinitionState::kSuspended)
    return Error{ErrorCode::kConflict, "is suspended already"};
  ChangeDefinition operation = change_of(*definition);
  operation.expected_generated_through.reset();
  operation.to->state = DefinitionState::kSuspended;
  operation.to->version += 1;
  operation.void_waiting = true;
  change(*definition, std::move(operation), {}, {}, std::move(request));
  return {};
}

Status Recurrence::resume(DefinitionId id, ForRequest request) {
  ActiveDefinition* definition = catalog_.definition(id);
  if (definition->is_changing) {
    when_settled(
        id,
        [this, request](ActiveDefinition& later) {
          const Status status = resume(later.row.id, request);
          if (!status.ok()) request.on_request({}, &status.error());
        },
        [request] { request.on_request({}, &kGone); });
    return {};
  }
  if (definition->row.state != DefinitionState::kSuspended &&
      definition->row.state != DefinitionState::kQuarantined) {
    return Error{ErrorCode::kConflict, "is not suspended"};
  }
  const WallTime now = clock_.now();
  ChangeDefinition operation = change_of(*definition);
  operation.expected_generated_through.reset();
  Definition& to = *operation.to;
  to.state = DefinitionState::kActive;
  to.version += 1;
  // Rows generated ahead were voided, so that the fires from now on are to be generated again;
  // what ran is not repeated, also when the clock was set back.
  to.generated_through = std::max(now, to.last_fire);
  const auto next = to.kind == ScheduleKind::kFixedDelay
                        ? definition->schedule.next_after_end(now)
                        : definition->schedule.next_fire(to.generated_through);
  to.next_fire = next.value_or(kNever);
  if (!next && to.kind != ScheduleKind::kManual) to.state = DefinitionState::kEnded;
  // A single run that still goes on makes its own next fire when it ends.
  if (is_single(*definition) && has_regular_run(*definition)) to.next_fire = to.generated_through;
  change(
      *definition, std::move(operation), {},
      [this](const ChangeDefinition& changed, const Outcome&) {
        when_settled(changed.id, [this](ActiveDefinition& resumed) {
          generate(resumed, horizon_end());
          remove_if_over(resumed.row.id);
        });
      },
      std::move(request));
  return {};
}

Status Recurrence::remove(DefinitionId id, std::vector<LogEntry> logs, ForRequest request) {
  when_settled(
      id,
      [this, logs = std::move(logs), request](ActiveDefinition& definition) {
        ChangeDefinition operation = change_of(definition);
        operation.expected_generated_through.reset();
        operation.to.reset();
        operation.void_waiting = true;
        operation.logs = logs;
        change(definition, std::move(operation), {}, {}, request);
      },
      [request] { request.on_request({}, &kGone); });
  return {};
}

void Recurrence::when_free(DefinitionId id, std::function<void()> then) {
  when_settled(
      id, [then](ActiveDefinition&) { then(); }, then);
}

ChangeDefinition Recurrence::begin_removal(DefinitionId id, LogEntry log) {
  ActiveDefinition* definition = catalog_.definition(id);
  CARILLON_ASSERT(definition != nullptr && !definition->is_changing,
                  "the caller has waited for it");
  definition->is_changing = true;
  ChangeDefinition operation = change_of(*definition);
  operation.expected_generated_through.reset();
  operation.to.reset();
  operation.void_waiting = true;
  operation.logs.push_back(std::move(log));
  return operation;
}

void Recurrence::end_removal(const ChangeDefinition& operation, bool done) {
  ActiveDefinition* definition = catalog_.definition(operation.id);
  CARILLON_ASSERT(definition != nullptr, "a definition goes only by its own change");
  if (done) {
    apply(*definition, operation);
  } else {
    settled(*definition);
  }
}

// The schedule is over and nothing of it is left.
void Recurrence::drop(DefinitionId id) {
  when_settled(id, [this](ActiveDefinition& definition) {
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

bool Recurrence::has_regular_run(const ActiveDefinition& definition) {
  return std::any_of(definition.running.begin(), definition.running.end(), [this](JobId id) {
    const Executing* entry = executing_.find(id);
    return entry != nullptr && !entry->row.job.triggered;
  });
}

// ---- the end of a run ----

ChangeDefinition Recurrence::next_cycle(ActiveDefinition& definition, WallTime after, bool ran) {
  ChangeDefinition operation = change_of(definition);
  Definition& to = *operation.to;
  if (!ran) to.fired -= 1;
  const WallTime now = clock_.now();
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
  if (!is_delay) {
    const std::int64_t passed =
        definition.schedule.count_fires(to.generated_through, *next - kTick, kCountMax);
    if (passed > 0) {
      const WallTime first = definition.schedule.next_fire(to.generated_through).value_or(*next);
      operation.logs.push_back(
          passed_over(to, LogState::kSkipped, first, passed, "the run before had not ended"));
    }
  }
  to.next_fire = *next;
  if (*next <= now + horizon()) {
    to.generated_through = *next;
    to.fired += 1;
    operation.add.push_back(occurrence(to, definition.spec.priority, *next));
  }
  return operation;
}

std::vector<Operation> Recurrence::with_end(const WaitingJob& job, WallTime ended) {
  ActiveDefinition* definition = catalog_.definition(job.definition);
  if (definition == nullptr || !is_single(*definition) || job.triggered || definition->is_changing)
    return {};
  if (definition->row.state != DefinitionState::kActive) return {};
  definition->is_changing = true;
  std::vector<Operation> operations;
  operations.emplace_back(next_cycle(*definition, std::min(ended, clock_.now()), true));
  return operations;
}

void Recurrence::run_ended(const WaitingJob& job, const std::vector<Operation>& with,
                           const std::vector<Outcome>& outcomes) {
  ActiveDefinition* definition = catalog_.definition(job.definition);
  if (definition == nullptr) return;
  definition->running.erase(job.id);
  const DefinitionId id = job.definition;
  if (!with.empty()) {
    const auto& changed = std::get<ChangeDefinition>(with.front());
    const bool done = outcomes.front().kind == OutcomeKind::kDone;
    if (done) apply(*definition, changed);
    definition = catalog_.definition(id);
    if (definition == nullptr) return;
    settled(*definition);
  } else if (is_single(*definition) && !job.triggered) {
    // It was being changed, or suspended, when the run ended.
    when_settled(id, [this](ActiveDefinition& settled_one) {
      const bool is_waiting_for_end =
          settled_one.row.next_fire <= settled_one.row.generated_through;
      if (settled_one.row.state != DefinitionState::kActive || !is_waiting_for_end ||
          !settled_one.running.empty())
        return;
      change(
          settled_one, next_cycle(settled_one, clock_.now(), true), {},
          [this](const ChangeDefinition& changed, const Outcome&) { remove_if_over(changed.id); });
    });
  }
  if (ActiveDefinition* still = catalog_.definition(id)) {
    unpark(*still);
    remove_if_over(id);
  }
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
    const auto& found = std::get<OccurrencesAnswer>(answer.value());
    if (found.waiting.empty() && found.executing.empty()) drop(id);
  });
}

// ---- generation ----

void Recurrence::generate(ActiveDefinition& definition, WallTime through) {
  if (definition.row.state != DefinitionState::kActive || definition.is_changing ||
      definition.is_recovering || definition.row.kind == ScheduleKind::kManual) {
    return;
  }
  if (is_single(definition)) {
    generate_single(definition, through);
  } else {
    generate_many(definition, through);
  }
}

void Recurrence::generate_single(ActiveDefinition& definition, WallTime through) {
  const Definition& row = definition.row;
  const bool has_occurrence = row.next_fire <= row.generated_through;
  if (has_occurrence || row.next_fire == kNever || row.next_fire > through) return;
  ChangeDefinition operation = change_of(definition);
  operation.to->generated_through = row.next_fire;
  operation.to->fired += 1;
  operation.add.push_back(occurrence(row, definition.spec.priority, row.next_fire));
  change(definition, std::move(operation), {}, {});
}

void Recurrence::generate_many(ActiveDefinition& definition, WallTime through) {
  ChangeDefinition operation = change_of(definition);
  Definition& to = *operation.to;
  std::optional<WallTime> fire = to.next_fire > to.generated_through
                                     ? std::optional(to.next_fire)
                                     : definition.schedule.next_fire(to.generated_through);
  while (fire && *fire <= through && operation.add.size() < kRowsAtOnce &&
         !is_exhausted(definition, to.fired)) {
    operation.add.push_back(occurrence(to, definition.spec.priority, *fire));
    to.generated_through = *fire;
    to.fired += 1;
    fire = definition.schedule.next_fire(*fire);
  }
  const bool is_over = !fire || is_exhausted(definition, to.fired);
  to.next_fire = is_over ? kNever : *fire;
  if (is_over) to.state = DefinitionState::kEnded;
  if (operation.add.empty() && !is_over) return;
  const bool has_more = !is_over && *fire <= through;
  change(definition, std::move(operation), {},
         [this, has_more, through](const ChangeDefinition& changed, const Outcome& outcome) {
           if (outcome.kind != OutcomeKind::kDone) return;
           if (has_more) {
             when_settled(changed.id,
                          [this, through](ActiveDefinition& more) { generate(more, through); });
           } else {
             remove_if_over(changed.id);
           }
         });
}

void Recurrence::clock_was_set() { pass_once(); }

void Recurrence::pass_once() {
  passed_through_ = clock_.now() + horizon();
  pass_some(DefinitionId{0});
  promote();
}

void Recurrence::pass() {
  pass_once();
  // With a shrunken horizon the passes come more often, in the same proportion.
  const double share =
      static_cast<double>(horizon().count()) / static_cast<double>(config_.horizon.count());
  const Duration period{
      static_cast<Duration::rep>(static_cast<double>(config_.period.count()) * share)};
  executor_.post_at(clock_.steady_now() + period, [this] { pass(); });
}

void Recurrence::pass_some(DefinitionId after) {
  int looked_at = 0;
  for (auto at = catalog_.definitions().upper_bound(after); at != catalog_.definitions().end();
       ++at) {
    if (++looked_at > kDefinitionsAtOnce) {
      executor_.post([this, after] { pass_some(after); });
      return;
    }
    after = at->first;
    ActiveDefinition& definition = *at->second;
    if (definition.row.state == DefinitionState::kEnded) {
      remove_if_over(after);
    } else if (definition.is_changing) {
      when_settled(after, [this](ActiveDefinition& later) { generate(later, passed_through_); });
    } else {
      generate(definition, passed_through_);
    }
  }
}

void Recurrence::release_promotion() {
  --promotion_held_;
  if (promotion_held_ == 0 && std::exchange(promotes_later_, false)) promote();
}

void Recurrence::promote() {
  if (is_promoting_) return;
  if (promotion_held_ > 0) {
    promotes_later_ = true;
    return;
  }
  is_promoting_ = true;
  batcher_.ask(
      ReadDelayed{.through = horizon_end(), .limit = kPromotedAtOnce},
      [this](Result<ReadAnswer> answer) {
        is_promoting_ = false;
        if (!answer.ok())
          return log_.error("reading delayed jobs failed", "error", answer.error().message);
        if (promotion_held_ > 0) {
          promotes_later_ = true;  // One of the rows may be suspended by now.
          return;
        }
        auto jobs = std::move(std::get<JobsAnswer>(answer.value()).jobs);
        if (jobs.empty()) return;
        const bool has_more = static_cast<std::int64_t>(jobs.size()) == kPromotedAtOnce;
        std::vector<Operation> moves;
        for (const WaitingJob& job : jobs)
          moves.emplace_back(ChangeWaiting{.from = job, .from_delayed = true, .to = job});
        is_promoting_ = true;
        batcher_.post_unit(Urgency::kClaim, std::move(moves),
                           [this, has_more](std::vector<Operation>& done,
                                            const std::vector<Outcome>& outcomes, const Error*) {
                             is_promoting_ = false;
                             for (std::size_t i = 0; i < done.size(); ++i) {
                               if (outcomes[i].kind == OutcomeKind::kDone)
                                 sink_.offer(*std::get<ChangeWaiting>(done[i]).to);
                             }
                             if (has_more) promote();
                           });
      });
}

}  // namespace carillon::jobtracker
