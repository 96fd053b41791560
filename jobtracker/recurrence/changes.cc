// Changes of a definition, one at a time: what the store has, the memory has after it.
#include <algorithm>
#include <utility>

#include "jobtracker/recurrence/recurrence.h"
#include "shared/base/assert.h"

namespace carillon::jobtracker {
namespace {

constexpr Duration kSoon = std::chrono::seconds{5};

}  // namespace

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
  go_on(definition.row.id);
}

// Does what has waited for the change.
void Recurrence::go_on(DefinitionId id) {
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
    auto& changed = std::get<ChangeDefinition>(operations.back());
    if (changed.to) changed.to->fired -= outcomes.back().count;
    forget_removed(operations);
    ActiveDefinition* found = catalog_.definition(changed.id);
    CARILLON_ASSERT(found != nullptr, "a definition goes only by its own change");
    if (outcomes.back().kind == OutcomeKind::kDone) {
      apply(*found, changed, outcomes.back());
    } else {
      log_.error("a definition was not changed", "task", found->row.task_id, "reason",
                 refused != nullptr ? refused->message : "the store has it otherwise");
    }
    if (then) then(changed, outcomes.back());
    if (ActiveDefinition* still = catalog_.definition(changed.id)) still->is_changing = false;
  };
  if (!request) {
    // Occurrences ahead of their time delay nobody who waits.
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
  // The answer calls off what the change makes void: that is known to what has waited.
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

// A read that ran before the commit may have brought a removed row into memory again.
void Recurrence::forget_removed(const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    if (const auto* removed = std::get_if<ChangeWaiting>(&operation))
      sink_.forget(removed->from.group, removed->from.id);
  }
}

// The store has it: so has the memory.
void Recurrence::apply(ActiveDefinition& definition, const ChangeDefinition& operation,
                       const Outcome& outcome) {
  if (operation.voided) feedback_.was_stored(*operation.voided, outcome.next);
  if (operation.void_waiting) sink_.forget_definition(operation.group, operation.id);
  if (!operation.to) {
    for (const JobId run : executing_.of_definition(definition.row.id)) {
      Executing& entry = *executing_.find(run);
      catalog_.keep_outliving(entry.row.job);
      // What was not sent has not begun, and ends for want of one.
      const bool gets_spec = operation.leaves_spec && entry.row.job.spec.empty() &&
                             entry.phase != Phase::kClaiming && entry.phase != Phase::kHeld;
      if (gets_spec) executing_.leave_spec(entry, definition.row.spec);
    }
    recovering_.erase(definition.row.id);
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
  if (operation.spec_changed) {
    catalog_.spec_changed(spec, definition.row.spec);
  } else {
    definition.row.spec = std::move(spec);
  }
  definition.stored_last_fire = definition.row.last_fire;
  definition.row.last_fire = std::max(last_fire, definition.row.last_fire);
  if (operation.void_waiting) {
    definition.parked.clear();
    // A run that waited for its retry went with its row: no end of it will come.
    std::erase_if(definition.running,
                  [this](const auto& one) { return executing_.find(one.first) == nullptr; });
  }
  for (const WaitingJob& job : operation.add) {
    if (!job.triggered) definition.regular = job.id;
    if (!is_single(definition)) count_ahead(job.trigger_time);
    sink_.offer(job);
  }
}

}  // namespace carillon::jobtracker
