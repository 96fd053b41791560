#include "jobtracker/recurrence/changes.h"

#include <algorithm>
#include <utility>

#include "shared/base/assert.h"

namespace carillon::jobtracker {
namespace {

constexpr Duration kSoon = std::chrono::seconds{5};

}  // namespace

Changes::Changes(Plans& plans, Catalog& catalog, ExecutingTable& executing, Batcher& batcher,
                 JobSink& sink, FeedbackSink& feedback, RunStopper& stopper, SchedulingClock& clock,
                 const Logger& log, OnAhead on_ahead)
    : plans_(plans),
      catalog_(catalog),
      executing_(executing),
      batcher_(batcher),
      sink_(sink),
      feedback_(feedback),
      stopper_(stopper),
      clock_(clock),
      log_(log),
      on_ahead_(std::move(on_ahead)) {}

void Changes::when_settled(DefinitionId id, Work work, std::function<void()> on_gone,
                           bool only_adds) {
  ActiveDefinition* definition = catalog_.definition(id);
  if (definition == nullptr) {
    if (on_gone) on_gone();
    return;
  }
  if (definition->is_changing) {
    definition->only_adds = definition->only_adds && only_adds;
    waiting_[id].push_back({std::move(work), std::move(on_gone), only_adds});
  } else {
    work(*definition);
  }
}

void Changes::settled(ActiveDefinition& definition) {
  definition.is_changing = false;
  go_on(definition.row.id);
}

// Continues with the next waiting change.
void Changes::go_on(DefinitionId id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  auto work = std::move(found->second);
  waiting_.erase(found);
  for (Waiting& one : work)
    when_settled(id, std::move(one.work), std::move(one.on_gone), one.only_adds);
}

void Changes::change(ActiveDefinition& definition, ChangeDefinition operation,
                     std::vector<Operation> with, Then then, std::optional<ForRequest> request) {
  CARILLON_ASSERT(!definition.is_changing, "one change of a definition at a time");
  definition.is_changing = true;
  definition.only_adds = operation.to && !operation.void_waiting && !operation.spec_changed;
  const DefinitionId id = definition.row.id;
  with.push_back(std::move(operation));
  auto on_unit = [this, then = std::move(then)](std::vector<Operation>& operations,
                                                const std::vector<Outcome>& outcomes,
                                                const Error* refused) {
    auto& changed = std::get<ChangeDefinition>(operations.back());
    if (changed.to) changed.to->fired -= outcomes.back().count;
    forget_removed(operations);
    ActiveDefinition* found = catalog_.definition(changed.id);
    CARILLON_ASSERT(found != nullptr, "only a definition's own change removes it");
    if (outcomes.back().kind == OutcomeKind::kDone) {
      apply(*found, changed, outcomes.back());
    } else {
      log_.error("cannot change a definition", "task", found->row.task_id, "reason",
                 refused != nullptr ? refused->message : "the store has another version");
    }
    if (then) then(changed, outcomes.back());
    if (ActiveDefinition* still = catalog_.definition(changed.id)) still->is_changing = false;
  };
  if (!request) {
    // Occurrences ahead of their time do not delay other changes.
    const auto& added = std::get<ChangeDefinition>(with.back()).add;
    const bool is_ahead = added.size() > 1 && added.front().trigger_time > clock_.now() + kSoon;
    batcher_.post_unit(is_ahead ? Urgency::kBulk : Urgency::kCompletion, std::move(with),
                       [this, id, on_unit = std::move(on_unit)](
                           std::vector<Operation>& operations, const std::vector<Outcome>& outcomes,
                           const Error* refused) {
                         on_unit(operations, outcomes, refused);
                         go_on(id);
                       });
    return;
  }
  // The answer ends the runs that the change supersedes, so waiting changes see them ended.
  auto on_request = [this, id, answer = std::move(request->on_request)](
                        const RequestOutcome& outcome, const Error* refused) {
    ActiveDefinition* found = catalog_.definition(id);
    if (outcome.answered_before && found != nullptr) found->is_changing = false;
    answer(outcome, refused);
    go_on(id);
  };
  batcher_.post_request(Urgency::kRequest, std::move(request->number), std::move(with),
                        std::move(on_request), std::move(on_unit));
}

// A read before the commit may have brought a removed row into memory again.
void Changes::forget_removed(const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    if (const auto* removed = std::get_if<ChangeWaiting>(&operation))
      sink_.forget(removed->from.group, removed->from.id);
  }
}

// The store has the change: updates memory.
void Changes::apply(ActiveDefinition& definition, const ChangeDefinition& operation,
                    const Outcome& outcome) {
  if (operation.voided) feedback_.was_stored(*operation.voided, outcome.next);
  if (operation.void_waiting) {
    operation.spares_triggered ? sink_.forget_fires(operation.group, operation.id)
                               : sink_.forget_definition(operation.group, operation.id);
  }
  if (operation.void_waiting) forget_waiting(definition, operation);
  if (!operation.to) return remove(definition, operation.leaves_spec);
  const WallTime last_fire = definition.row.last_fire;
  std::string spec = std::move(definition.row.spec);
  definition.row = *operation.to;
  if (operation.spec_changed) {
    catalog_.spec_changed(spec, definition.row.spec);
  } else {
    definition.row.spec = std::move(spec);
  }
  definition.stored_last_fire = definition.row.last_fire;
  definition.row.last_fire = std::max(last_fire, definition.row.last_fire);
  // A spared run may start, if the previous run was waiting for its retry.
  if (operation.void_waiting) {
    for (auto& [key, job] : std::exchange(definition.blocked, {})) {
      if (operation.spares_triggered && !is_fire(job)) sink_.offer(std::move(job));
    }
  }
  for (const WaitingJob& job : operation.add) {
    if (!job.triggered) definition.regular = job.id;
    if (!is_single(definition)) on_ahead_(job.trigger_time);
    sink_.offer(job);
  }
  if (operation.void_waiting) stopper_.stop_void(definition.row.id);
}

// A run that waited for its retry was removed with its row: it has no end.
void Changes::forget_waiting(ActiveDefinition& definition, const ChangeDefinition& operation) {
  std::erase_if(definition.running, [&](const auto& one) {
    const auto& [id, run] = one;
    const bool goes = run.is_fire || !operation.spares_triggered;
    if (!goes || executing_.find(id) != nullptr) return false;
    stopper_.call_off(id, operation.voided->message);
    return true;
  });
}

void Changes::remove(ActiveDefinition& definition, bool leaves_spec) {
  const DefinitionId id = definition.row.id;
  for (const JobId run : executing_.of_definition(id)) {
    Executing& entry = *executing_.find(run);
    // A job that was not sent has not started, and does not start.
    if (entry.phase == Phase::kClaiming || entry.phase == Phase::kHeld) continue;
    catalog_.keep_outliving(entry.row.job);
    if (leaves_spec && entry.row.job.spec.empty())
      executing_.leave_spec(entry, definition.row.spec);
  }
  const auto left = waiting_.extract(id);
  catalog_.remove_definition(id);
  stopper_.stop_void(id);
  if (left.empty()) return;
  for (const Waiting& one : left.mapped()) {
    if (one.on_gone) one.on_gone();
  }
}

Sizes Changes::sizes() const {
  std::size_t works = 0;
  for (const auto& [id, work] : waiting_) works += work.size();
  return {{"waiting", waiting_.size()}, {"works", works}};
}

void Changes::offer_triggered(WaitingJob run) {
  const DefinitionId id = run.definition;
  const auto offer = [this, run = std::move(run)] { sink_.offer(run); };
  when_settled(
      id, [offer](ActiveDefinition&) { offer(); }, offer);
}

void Changes::remove_if_over(DefinitionId id) {
  const auto is_over = [this, id] {
    const ActiveDefinition* one = catalog_.definition(id);
    return one != nullptr && one->row.state == DefinitionState::kEnded && one->running.empty() &&
           one->blocked.empty() && one->triggers_under_way == 0;
  };
  if (!is_over()) return;
  const ActiveDefinition* definition = catalog_.definition(id);
  ReadOccurrences question{.definition = id, .group = definition->row.group, .limit = 1};
  batcher_.ask(question, [this, id, is_over](Result<ReadAnswer> answer) {
    if (!answer.ok() || !is_over()) return;
    if (!std::get<JobsAnswer>(answer.value()).jobs.empty()) return;
    when_settled(id, [this](ActiveDefinition& one) {
      if (one.row.state != DefinitionState::kEnded) return;  // A run of it did not count.
      ChangeDefinition operation = plans_.change_of(one);
      operation.to.reset();
      change(one, std::move(operation));
    });
  });
}

}  // namespace carillon::jobtracker
