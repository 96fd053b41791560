// Occurrences ahead of their time: the passes every nine minutes, and delayed jobs whose time has
// come near.
#include <utility>

#include "jobtracker/recurrence/recurrence.h"

namespace carillon::jobtracker {
namespace {

constexpr WallTime kNever{};  // "none" in a row
// A definition cannot change while its rows wait for a commit, so few do at a time.
constexpr std::size_t kRowsUnderWay = 8192;
constexpr int kDefinitionsAtOnce = 500;  // looked at in one turn
constexpr std::int64_t kPromotedAtOnce = 1000;
constexpr Duration kSuspectAfter = std::chrono::seconds{30};
// So far ahead everything stands in the tables before anything stands there for later, and
// whatever the cap.
constexpr Duration kAheadMin = std::chrono::seconds{20};
constexpr Duration kReadAgain = std::chrono::seconds{1};
constexpr Duration kPassAgain = std::chrono::seconds{1};

}  // namespace

// The one whose rows end first comes first, so that none has much ahead while another has nothing.
void Recurrence::generate_some() {
  for (int looked_at = 0; !to_generate_.empty() && rows_under_way_ < kRowsUnderWay; ++looked_at) {
    if (looked_at == kDefinitionsAtOnce) {
      if (!std::exchange(generates_later_, true)) {
        executor_.post([this] {
          generates_later_ = false;
          generate_some();
        });
      }
      return;
    }
    const auto driest = to_generate_.extract(to_generate_.begin());
    when_settled(driest.value().second, [this](ActiveDefinition& definition) {
      generate(definition);
      remove_if_over(definition.row.id);
    });
  }
}

// A single definition has its occurrence already.
void Recurrence::generate(ActiveDefinition& definition) {
  if (definition.row.state != DefinitionState::kActive || definition.is_changing ||
      definition.is_recovering || definition.row.kind == ScheduleKind::kManual ||
      is_single(definition)) {
    return;
  }
  ChangeDefinition operation = change_of(definition);
  Definition& to = *operation.to;
  std::optional<WallTime> fire = to.next_fire > to.generated_through
                                     ? std::optional(to.next_fire)
                                     : definition.schedule.next_fire(to.generated_through);
  const bool is_full = rows_ahead() >= config_.rows_max;
  const WallTime soon = std::min(horizon_end(), clock_.now() + kAheadMin);
  const bool is_short = fire && *fire < clock_.now() + kAheadMin / 2;
  const WallTime until = is_full || is_short ? soon : horizon_end();
  const OccurrenceIds::Column ids = occurrence_ids_.next_column(clock_.now());
  while (fire && *fire <= until && operation.add.size() < OccurrenceIds::kRows &&
         !is_exhausted(definition, to.fired)) {
    const JobId id = ids.id_of(operation.add.size());
    operation.add.push_back(occurrence(id, to, definition.spec.priority, *fire));
    to.generated_through = *fire;
    to.fired += 1;
    fire = definition.schedule.next_fire(*fire);
  }
  const bool is_over = !fire || is_exhausted(definition, to.fired);
  to.next_fire = is_over ? kNever : *fire;
  if (is_over) to.state = DefinitionState::kEnded;
  const bool has_more = !is_over && *fire <= (is_full ? soon : horizon_end());
  // What the cap keeps out comes in time with an earlier pass.
  if (is_full && !is_over && !has_more) pass_within((*fire - clock_.now()) / 2);
  if (operation.add.empty() && !is_over && to.last_fire <= definition.stored_last_fire) return;
  const std::size_t rows = operation.add.size();
  rows_under_way_ += rows;
  change(definition, std::move(operation), {},
         [this, rows, has_more](const ChangeDefinition& changed, const Outcome& outcome) {
           rows_under_way_ -= rows;
           if (outcome.kind == OutcomeKind::kDone) {
             if (ActiveDefinition* one = catalog_.definition(changed.id)) watch_next_fire(*one);
             if (has_more) to_generate_.emplace(changed.to->generated_through, changed.id);
             if (!has_more) remove_if_over(changed.id);
           }
           generate_some();
         });
}

void Recurrence::count_ahead(WallTime fire) {
  ++ahead_[std::chrono::ceil<std::chrono::seconds>(fire)];
  ++rows_ahead_;
}

std::int64_t Recurrence::rows_ahead() {
  while (!ahead_.empty() && ahead_.begin()->first <= clock_.now()) {
    rows_ahead_ -= ahead_.begin()->second;
    ahead_.erase(ahead_.begin());
  }
  return rows_ahead_;
}

void Recurrence::generate_later(DefinitionId id) {
  const ActiveDefinition* definition = catalog_.definition(id);
  if (definition == nullptr) return;
  to_generate_.emplace(definition->row.generated_through, id);
  generate_some();
}

void Recurrence::clock_was_set() { pass_once(); }

void Recurrence::pass_once() {
  pass_some(DefinitionId{0});
  promote();
}

void Recurrence::pass() {
  pass_timer_ = 0;
  if (!to_generate_.empty()) return pass_within(kPassAgain);  // The last one is not through yet.
  pass_within(config_.period);
  pass_once();
}

// Sets the time of the next pass, or brings it forward.
void Recurrence::pass_within(Duration time) {
  const SteadyTime at = clock_.steady_now() + time;
  if (pass_timer_ != 0 && pass_at_ <= at) return;
  if (pass_timer_ != 0) executor_.cancel(pass_timer_);
  pass_at_ = at;
  pass_timer_ = executor_.post_at(at, [this] { pass(); });
}

void Recurrence::pass_some(DefinitionId after) {
  int looked_at = 0;
  for (auto at = catalog_.definitions().upper_bound(after); at != catalog_.definitions().end();
       ++at) {
    if (++looked_at > kDefinitionsAtOnce) {
      executor_.post([this, after] { pass_some(after); });
      break;
    }
    after = at->first;
    ActiveDefinition& definition = *at->second;
    if (definition.row.state == DefinitionState::kEnded) {
      remove_if_over(after);
    } else {
      const Definition& row = definition.row;
      if (row.next_fire <= horizon_end() || row.last_fire > definition.stored_last_fire)
        to_generate_.emplace(row.generated_through, after);
      reconcile(after, kSuspectAfter);
    }
  }
  generate_some();
}

// A single definition whose occurrence should have run by now, and does not run: if the store has
// none, it makes the next one, so that no accident ends a schedule.
void Recurrence::reconcile(DefinitionId id, Duration age) {
  const auto is_suspect = [this, age](const ActiveDefinition& definition) {
    const Definition& row = definition.row;
    return is_single(definition) && row.state == DefinitionState::kActive &&
           !definition.is_changing && !definition.is_recovering && definition.running.empty() &&
           definition.parked.empty() && row.next_fire + age < clock_.now() &&
           row.kind != ScheduleKind::kManual;
  };
  const ActiveDefinition* definition = catalog_.definition(id);
  if (definition == nullptr || !is_suspect(*definition)) return;
  ReadOccurrences question{.definition = id, .group = definition->row.group, .limit = 1};
  batcher_.ask(question, [this, id, is_suspect](Result<ReadAnswer> answer) {
    ActiveDefinition* found = catalog_.definition(id);
    if (!answer.ok() || found == nullptr || !is_suspect(*found)) return;
    if (!std::get<JobsAnswer>(answer.value()).jobs.empty()) return;
    log_.warn("a schedule had lost its next run, it goes on", "task", found->row.task_id);
    change(*found, next_cycle(*found, clock_.now(), true), {}, {});
  });
}

void Recurrence::release_promotion() {
  --promotion_held_;
  if (promotion_held_ == 0 && std::exchange(promotes_later_, false)) promote();
}

void Recurrence::promote_again() {
  executor_.post_at(clock_.steady_now() + kReadAgain, [this] { promote(); });
}

void Recurrence::promote() {
  if (is_promoting_ || promotion_held_ > 0) {
    promotes_later_ = true;
    return;
  }
  is_promoting_ = true;
  batcher_.ask(ReadDelayed{.through = horizon_end(), .limit = kPromotedAtOnce},
               [this](Result<ReadAnswer> answer) {
                 is_promoting_ = false;
                 if (!answer.ok()) {
                   log_.error("reading delayed jobs failed, trying again", "error",
                              answer.error().message);
                   return promote_again();
                 }
                 if (promotion_held_ > 0) {
                   promotes_later_ = true;  // One of the rows may be suspended by now.
                   return;
                 }
                 auto jobs = std::move(std::get<JobsAnswer>(answer.value()).jobs);
                 if (jobs.empty()) {
                   // Asked before the store stood still, it says nothing of what is near by now.
                   if (std::exchange(promotes_later_, false)) promote();
                   return;
                 }
                 const bool has_more = static_cast<std::int64_t>(jobs.size()) == kPromotedAtOnce;
                 std::vector<Operation> moves;
                 for (WaitingJob& job : jobs) {
                   ChangeWaiting move{.from = job, .to = std::move(job)};
                   move.to->delayed = false;
                   moves.emplace_back(std::move(move));
                 }
                 is_promoting_ = true;
                 batcher_.post_unit(
                     Urgency::kClaim, std::move(moves),
                     [this, has_more](std::vector<Operation>& done,
                                      const std::vector<Outcome>& outcomes, const Error* refused) {
                       is_promoting_ = false;
                       if (refused != nullptr) return promote_again();
                       for (std::size_t i = 0; i < done.size(); ++i) {
                         if (outcomes[i].kind == OutcomeKind::kDone)
                           sink_.offer(*std::get<ChangeWaiting>(done[i]).to);
                       }
                       if (std::exchange(promotes_later_, false) || has_more) promote();
                     });
               });
}

}  // namespace carillon::jobtracker
