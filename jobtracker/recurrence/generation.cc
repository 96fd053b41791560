#include "jobtracker/recurrence/generation.h"

#include <algorithm>

namespace carillon::jobtracker {
namespace {

// Most rows that wait for a commit: a definition cannot change during that time.
constexpr std::size_t kRowsUnderWay = 8192;
constexpr int kDefinitionsAtOnce = 500;  // checked in one turn
constexpr Duration kSuspectAfter = std::chrono::seconds{30};
// All occurrences within this time are stored before later ones, regardless of the limit.
constexpr Duration kAheadMin = std::chrono::seconds{20};
constexpr std::int64_t kFiresOfASecond = 1'000;  // kIntervalMin
constexpr Duration kPassAgain = std::chrono::seconds{1};
// A new owner has fires and submissions that wait for the store.
constexpr Duration kFirstPass = std::chrono::seconds{1};

}  // namespace

Generation::Generation(RecurrenceConfig config, Plans& plans, Changes& changes,
                       Promotion& promotion, Catalog& catalog, Batcher& batcher, IdSource& ids,
                       SchedulingClock& clock, TaskRunner& task_runner, const Logger& log,
                       OnGenerated on_generated)
    : config_(config),
      plans_(plans),
      changes_(changes),
      promotion_(promotion),
      catalog_(catalog),
      batcher_(batcher),
      clock_(clock),
      task_runner_(task_runner),
      log_(log),
      on_generated_(std::move(on_generated)),
      ids_(ids) {}

void Generation::start(const StartAnswer& found) {
  pass_some(clock_.now() + kAheadMin, DefinitionId{0});
  promotion_.run_once();
  task_runner_.post_at(clock_.steady_now() + kFirstPass, [this] { pass_once(); });
  pass_within(config_.period);
  // A run may have ended without the next one, if the job tracker died in between.
  for (const Definition& row : found.definitions) make_up_for_lost(row.id, Duration{});
}

void Generation::clock_was_set() { pass_once(); }

void Generation::generate_later(DefinitionId id) {
  const ActiveDefinition* definition = catalog_.definition(id);
  if (definition == nullptr) return;
  to_generate_.emplace(definition->row.generated_through, id);
  generate_some();
}

void Generation::count_ahead(WallTime fire, std::int64_t rows) {
  ahead_[std::chrono::ceil<std::chrono::seconds>(fire)] += rows;
  rows_ahead_ += rows;
}

// Counts second by second, because nothing else runs meanwhile. Fires of a cron schedule are at
// whole seconds.
void Generation::count_ahead(CompiledSchedule& schedule, WallTime after, WallTime through) {
  if (through <= after) return;
  for (auto fire = schedule.next_fire(after); fire && *fire <= through;) {
    const WallTime end =
        std::min<WallTime>(std::chrono::ceil<std::chrono::seconds>(*fire), through);
    const bool has_more = *fire < end;
    count_ahead(*fire, 1 + (has_more ? schedule.count_fires(*fire, end, kFiresOfASecond) : 0));
    fire = schedule.next_fire(end);
  }
}

// The definition whose rows end first is next, so that all advance together.
void Generation::generate_some() {
  if (is_stopped_) return;
  for (int looked_at = 0; !to_generate_.empty() && rows_under_way_ < kRowsUnderWay; ++looked_at) {
    if (looked_at == kDefinitionsAtOnce) {
      if (!std::exchange(generates_later_, true)) {
        task_runner_.post([this] {
          generates_later_ = false;
          generate_some();
        });
      }
      return;
    }
    const auto driest = to_generate_.extract(to_generate_.begin());
    changes_.when_settled(
        driest.value().second,
        [this](ActiveDefinition& definition) {
          generate(definition);
          changes_.remove_if_over(definition.row.id);
        },
        {}, true);
  }
}

// A single definition has its occurrence already.
void Generation::generate(ActiveDefinition& definition) {
  if (definition.row.state != DefinitionState::kActive || definition.is_changing ||
      definition.is_recovering || definition.row.kind == ScheduleKind::kManual ||
      is_single(definition)) {
    return;
  }
  ChangeDefinition operation = plans_.change_of(definition);
  Definition& to = *operation.to;
  std::optional<WallTime> fire = to.next_fire > to.generated_through
                                     ? std::optional(to.next_fire)
                                     : definition.schedule.next_fire(to.generated_through);
  const bool is_full = rows_ahead() >= config_.rows_max;
  const WallTime soon = std::min(promotion_.horizon_end(), clock_.now() + kAheadMin);
  const bool is_short = fire && *fire < clock_.now() + kAheadMin / 2;
  const WallTime until = is_full || is_short ? soon : promotion_.horizon_end();
  const OccurrenceIds::Column ids = ids_.next_column(clock_.now());
  while (fire && *fire <= until && operation.add.size() < OccurrenceIds::kRows &&
         !is_exhausted(definition, to.fired)) {
    const JobId id = ids.id_of(operation.add.size());
    operation.add.push_back(plans_.occurrence(id, to, definition.spec.priority, *fire));
    to.generated_through = *fire;
    to.fired += 1;
    fire = definition.schedule.next_fire(*fire);
  }
  const bool is_over = !fire || is_exhausted(definition, to.fired);
  to.next_fire = is_over ? kNever : *fire;
  if (is_over) to.state = DefinitionState::kEnded;
  const bool has_more = !is_over && *fire <= (is_full ? soon : promotion_.horizon_end());
  // Occurrences beyond the limit are created by an earlier next pass.
  if (is_full && !is_over && !has_more) pass_within((*fire - clock_.now()) / 2);
  if (operation.add.empty() && !is_over && to.last_fire <= definition.stored_last_fire) return;
  const std::size_t rows = operation.add.size();
  rows_under_way_ += rows;
  changes_.change(definition, std::move(operation), {},
                  [this, rows, has_more](const ChangeDefinition& changed, const Outcome& outcome) {
                    rows_under_way_ -= rows;
                    if (outcome.kind == OutcomeKind::kDone) {
                      if (ActiveDefinition* one = catalog_.definition(changed.id))
                        on_generated_(*one);
                      if (has_more) to_generate_.emplace(changed.to->generated_through, changed.id);
                      if (!has_more) changes_.remove_if_over(changed.id);
                    }
                    generate_some();
                  });
}

std::int64_t Generation::rows_ahead() {
  while (!ahead_.empty() && ahead_.begin()->first <= clock_.now()) {
    rows_ahead_ -= ahead_.begin()->second;
    ahead_.erase(ahead_.begin());
  }
  return rows_ahead_;
}

void Generation::pass() {
  pass_timer_ = 0;
  if (!to_generate_.empty()) return pass_within(kPassAgain);  // The last pass is not complete.
  pass_within(config_.period);
  pass_once();
}

// Sets the time of the next pass, or moves it forward.
void Generation::pass_within(Duration time) {
  const SteadyTime at = clock_.steady_now() + time;
  if (pass_timer_ != 0 && pass_at_ <= at) return;
  if (pass_timer_ != 0) task_runner_.cancel(pass_timer_);
  pass_at_ = at;
  pass_timer_ = task_runner_.post_at(at, [this] { pass(); });
}

void Generation::pass_once() {
  pass_some(promotion_.horizon_end(), DefinitionId{0});
  promotion_.run_once();
}

// For those that have rows in this time.
void Generation::pass_some(WallTime until, DefinitionId after) {
  if (is_stopped_) return;
  const WallTime now = clock_.now();
  int looked_at = 0;
  for (auto at = catalog_.definitions().upper_bound(after); at != catalog_.definitions().end();
       ++at) {
    if (++looked_at > kDefinitionsAtOnce) {
      task_runner_.post([this, until, after] { pass_some(until, after); });
      break;
    }
    after = at->first;
    ActiveDefinition& definition = *at->second;
    if (definition.row.state == DefinitionState::kEnded) {
      changes_.remove_if_over(after);
    } else {
      const Definition& row = definition.row;
      if (row.next_fire <= until || row.last_fire > definition.stored_last_fire)
        to_generate_.emplace(row.generated_through, after);
      if (row.next_fire < now - kSuspectAfter) make_up_for_lost(after, kSuspectAfter);
    }
  }
  generate_some();
}

// A single definition whose occurrence is due but not running: if the store has none, creates the
// next one, so that no error ends a schedule.
void Generation::make_up_for_lost(DefinitionId id, Duration age) {
  const auto is_suspect = [this, age](const ActiveDefinition& definition) {
    const Definition& row = definition.row;
    return is_single(definition) && row.state == DefinitionState::kActive &&
           !definition.is_changing && !definition.is_recovering && definition.running.empty() &&
           definition.blocked.empty() && row.next_fire + age < clock_.now() &&
           row.kind != ScheduleKind::kManual;
  };
  const ActiveDefinition* definition = catalog_.definition(id);
  if (definition == nullptr || !is_suspect(*definition)) return;
  ReadOccurrences question{.definition = id, .group = definition->row.group, .limit = 1};
  batcher_.ask(question, [this, id, is_suspect](Result<ReadAnswer> answer) {
    ActiveDefinition* found = catalog_.definition(id);
    if (!answer.ok() || found == nullptr || !is_suspect(*found)) return;
    if (!std::get<JobsAnswer>(answer.value()).jobs.empty()) return;
    log_.warn("restored the missing next run of a schedule", "task", found->row.task_id);
    changes_.change(*found, plans_.next_cycle(*found, clock_.now(), true));
  });
}

Sizes Generation::sizes() const {
  return {{"ahead", ahead_.size()},
          {"to_generate", to_generate_.size()},
          {"rows_under_way", rows_under_way_}};
}

}  // namespace carillon::jobtracker
