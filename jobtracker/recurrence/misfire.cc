// After a restart: the schedule starts again where the last job tracker left it, and what was
// missed meanwhile ends in one recorded outcome a definition.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "jobtracker/recurrence/recurrence.h"
#include "shared/base/assert.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kOccurrencesMax = 100'000;
constexpr int kRecoveredAtOnce = 16;
constexpr int kFiresAtOnce = 1'000;  // counted in one turn, of one definition
constexpr Duration kClaimedAheadMax = std::chrono::seconds{1};

std::string words(MisfirePolicy policy) {
  switch (policy) {
    case MisfirePolicy::kFireOnce:
      return "missed while no job tracker ran; one run stands for all";
    case MisfirePolicy::kSkip:
      return "missed while no job tracker ran; not run afterwards";
    case MisfirePolicy::kFireAll:
      return "missed while no job tracker ran; beyond the misfire policy's max or window";
  }
  return {};
}

}  // namespace

WallTime Recurrence::dead_from(GroupId group) const {
  const auto found = last_alive_of_.find(partition_of(group));
  return found == last_alive_of_.end() ? last_alive_ : found->second;
}

bool Recurrence::was_missed(GroupId group, WallTime trigger, Duration threshold) const {
  const WallTime from = dead_from(group);
  return from != WallTime{} && trigger > from && trigger <= started_at_ - threshold;
}

void Recurrence::start(const StartAnswer& found) {
  last_alive_ = found.last_alive;
  last_alive_of_ = found.last_alive_of;
  started_at_ = clock_.now();
  catalog_.start_definition_ids(found.definition_high, found.number);
  for (const Definition& row : found.definitions) {
    auto spec = wire::decode_spec(row.spec);
    if (!spec.ok()) {
      log_.error("a stored definition can't be read, and will not fire", "task", row.task_id,
                 "error", spec.error().message);
      continue;
    }
    auto schedule = CompiledSchedule::compile(spec.value().schedule, row.created_at);
    if (!schedule.ok()) {
      log_.error("a stored schedule can't be read, and will not fire", "task", row.task_id, "error",
                 schedule.error().message);
      continue;
    }
    ActiveDefinition& definition =
        catalog_.put_definition(row, std::move(spec.value()), std::move(schedule.value()));
    // The clock was ahead: what has fired by it is not made again when the job is resumed.
    const WallTime alive = dead_from(row.group);
    if (alive > started_at_) {
      definition.row.last_fire =
          std::max(row.last_fire, std::min(row.generated_through, alive + kClaimedAheadMax));
    }
    if (!is_single(definition) && row.kind != ScheduleKind::kManual) {
      for (auto fire = definition.schedule.next_fire(started_at_);
           fire && *fire <= row.generated_through; fire = definition.schedule.next_fire(*fire)) {
        count_ahead(*fire);
      }
    }
    recover(definition);
  }
  for (const ExecutingJob& executing : found.executing) {
    if (ActiveDefinition* definition = catalog_.definition(executing.job.definition)) {
      definition->running.emplace(executing.job.id, executing.job.trigger_time);
    } else if (executing.job.definition) {
      catalog_.keep_outliving(executing.job);
    }
  }
  for (const WaitingJob& retry : found.retries) {
    ActiveDefinition* definition = catalog_.definition(retry.definition);
    if (definition != nullptr && definition->row.version == retry.version) {
      definition->running.emplace(retry.id, retry.trigger_time);
      if (was_lost_too_often(retry)) quarantine(retry, retry.lost);
    } else {
      end_void(retry);
    }
  }
  for (int i = 0; i < kRecoveredAtOnce; ++i) recover_next();
  pass();
  // A run may have ended without the next one, if the job tracker died between the two.
  for (const auto& [id, definition] : catalog_.definitions()) reconcile(id, Duration{});
}

// Marks a definition whose rows must be looked at before anything of it runs, because it may have
// missed fires.
void Recurrence::recover(ActiveDefinition& definition) {
  const Definition& row = definition.row;
  if (row.kind == ScheduleKind::kManual || is_held(row.state)) return;
  bool must = false;
  const Duration threshold = definition.spec.misfire.threshold;
  if (is_single(definition)) {
    must = row.state == DefinitionState::kActive && was_missed(row.group, row.next_fire, threshold);
  } else {
    const WallTime from = dead_from(row.group);
    const auto first = definition.schedule.next_fire(from);
    must = from != WallTime{} && first && was_missed(row.group, *first, threshold);
  }
  if (!must) return;
  definition.is_recovering = true;
  recovering_.insert(row.id);
  to_recover_.push_back(row.id);
  hold_promotion();  // What it missed may stand in the delayed table.
}

void Recurrence::recover_next() {
  if (to_recover_.empty()) return;
  const DefinitionId id = to_recover_.back();
  to_recover_.pop_back();
  const ActiveDefinition* definition = catalog_.definition(id);
  if (definition == nullptr) {
    release_promotion();
    return recover_next();
  }
  ReadOccurrences question{
      .definition = id, .group = definition->row.group, .limit = kOccurrencesMax};
  batcher_.ask(question, [this, id](Result<ReadAnswer> answer) {
    if (answer.ok()) {
      recover_with(id, std::get<JobsAnswer>(answer.value()).jobs);
    } else {
      log_.error("reading a definition's occurrences failed, trying again", "error",
                 answer.error().message);
      executor_.post_at(clock_.steady_now() + std::chrono::seconds{1}, [this, id] {
        to_recover_.push_back(id);
        recover_next();
      });
      return;
    }
    recover_next();
  });
}

// What a definition has missed.
struct Recurrence::Missed {
  DefinitionId id{};
  std::int32_t version = 0;        // another one by now: it was suspended, what it had is void
  std::size_t runs_max = 0;        // as the policy says
  WallTime until{};                // later fires are not missed
  std::vector<WaitingJob> rows{};  // by time
  std::deque<WallTime> bare{};     // fires without a row, all later: the newest that may run
  std::int64_t bare_count = 0;     // of all
  WallTime first_bare{};
  WallTime through{};              // counted up to here
  std::optional<WallTime> next{};  // the fire after that

  std::int64_t total() const { return static_cast<std::int64_t>(rows.size()) + bare_count; }
  void count(WallTime fire) {
    if (bare_count++ == 0) first_bare = fire;
    bare.push_back(fire);
    if (bare.size() > runs_max) bare.pop_front();
    through = fire;
  }

  // One mostly. Between two of them fires have other outcomes, where clocks were set.
  struct Range {
    WallTime first{};
    WallTime last{};
    std::int64_t count = 0;
  };
  std::vector<Range> ranges(CompiledSchedule& schedule) const {
    std::vector<Range> all;
    const auto add = [&](WallTime first, WallTime last, std::int64_t count) {
      if (all.empty() || schedule.next_fire(all.back().last) != first) {
        all.push_back({first, last, count});
      } else {
        all.back().last = last;
        all.back().count += count;
      }
    };
    for (const WaitingJob& row : rows) add(row.trigger_time, row.trigger_time, 1);
    if (bare_count > 0) add(first_bare, through, bare_count);
    return all;
  }
};

void Recurrence::recover_with(DefinitionId id, const std::vector<WaitingJob>& waiting) {
  const auto work = [this, waiting](ActiveDefinition& definition) {
    const Definition& row = definition.row;
    const Misfire& policy = definition.spec.misfire;
    auto missed = std::make_shared<Missed>(Missed{.id = row.id, .version = row.version});
    missed->runs_max = policy.policy == MisfirePolicy::kFireAll
                           ? static_cast<std::size_t>(std::max<std::int64_t>(policy.max, 0))
                           : 1;
    missed->until = started_at_ - policy.threshold;
    for (const WaitingJob& job : waiting) {
      const bool is_new = job.version == row.version && job.attempt == 0 && !job.triggered;
      if (is_new && was_missed(row.group, job.trigger_time, policy.threshold))
        missed->rows.push_back(job);
    }
    std::sort(missed->rows.begin(), missed->rows.end(),
              [](const auto& a, const auto& b) { return a.trigger_time < b.trigger_time; });
    missed->through = row.generated_through;
    // A single run that goes on passes its fires over itself, when it ends; but not one that was
    // triggered while the regular one waits.
    const bool goes_on =
        is_single(definition) && !definition.running.empty() && missed->rows.empty();
    if (row.state == DefinitionState::kActive && !goes_on) {
      if (row.next_fire > row.generated_through) {
        missed->next = row.next_fire;
      } else if (row.kind != ScheduleKind::kFixedDelay) {
        missed->next = definition.schedule.next_fire(row.generated_through);
      }
    }
    leap_to_newest(definition, *missed);
    count_missed(missed);
  };
  when_settled(id, work, [this] { release_promotion(); });
}

// Of an interval the fires that will not run need not be looked at one by one.
void Recurrence::leap_to_newest(ActiveDefinition& definition, Missed& missed) {
  if (definition.row.kind != ScheduleKind::kEvery || !missed.next || *missed.next > missed.until)
    return;
  const std::int64_t after_first = definition.schedule.count_fires(
      *missed.next, missed.until, std::numeric_limits<std::int64_t>::max());
  const std::int64_t leap = after_first - static_cast<std::int64_t>(missed.runs_max);
  if (leap <= 0) return;
  const WallTime first = *missed.next;
  missed.count(first);
  missed.bare_count += leap - 1;
  missed.through = first + (leap - 1) * definition.spec.schedule.interval;
  missed.next = definition.schedule.next_fire(missed.through);
}

// A long down time has millions of fires: some at a time, and nobody else waits for them. Nothing
// of the definition runs meanwhile.
void Recurrence::count_missed(const std::shared_ptr<Missed>& missed) {
  ActiveDefinition* definition = catalog_.definition(missed->id);
  const bool is_delay = definition != nullptr && definition->row.kind == ScheduleKind::kFixedDelay;
  for (int i = 0; definition != nullptr && missed->next && *missed->next <= missed->until; ++i) {
    if (i == kFiresAtOnce) return executor_.post([this, missed] { count_missed(missed); });
    missed->count(*missed->next);
    missed->next = is_delay ? std::nullopt : definition->schedule.next_fire(missed->through);
  }
  when_settled(
      missed->id, [this, missed](ActiveDefinition& counted) { settle_missed(counted, *missed); },
      [this] { release_promotion(); });
}

// Which of them run: the newest, as many as the policy allows.
void Recurrence::settle_missed(ActiveDefinition& definition, Missed& missed) {
  const std::int64_t total = missed.total();
  if (total == 0 || definition.row.version != missed.version) return recovered(missed.id, {});
  const Misfire& policy = definition.spec.misfire;
  ChangeDefinition operation = change_of(definition);
  Definition& to = *operation.to;
  to.generated_through = missed.through;
  std::size_t allowed = policy.policy == MisfirePolicy::kSkip ? 0 : missed.runs_max;
  if (definition.spec.schedule.count) {
    const std::int64_t ran = to.fired - static_cast<std::int64_t>(missed.rows.size());
    const std::int64_t left = std::max<std::int64_t>(*definition.spec.schedule.count - ran, 0);
    allowed = std::min(allowed, static_cast<std::size_t>(left));
  }
  const auto is_in_window = [&](WallTime fire) {
    return policy.policy != MisfirePolicy::kFireAll || fire >= started_at_ - policy.window;
  };
  std::vector<WallTime> to_add;
  while (allowed > 0 && !missed.bare.empty() && is_in_window(missed.bare.back())) {
    to_add.push_back(missed.bare.back());
    missed.bare.pop_back();
    --allowed;
  }
  std::reverse(to_add.begin(), to_add.end());
  // Of the rows the newest stay, the others go.
  std::size_t kept = 0;
  while (kept < std::min(allowed, missed.rows.size()) &&
         is_in_window(missed.rows[missed.rows.size() - 1 - kept].trigger_time))
    ++kept;
  missed.rows.resize(missed.rows.size() - kept);
  std::vector<Operation> with;
  std::set<JobId> gone;
  for (const WaitingJob& job : missed.rows) {
    sink_.forget(job.group, job.id);
    definition.leaving.insert(job.id);  // A read under way may bring the row back.
    gone.insert(job.id);
    with.emplace_back(ChangeWaiting{.from = job});
  }
  std::erase_if(definition.parked,
                [&](const auto& parked) { return gone.count(parked.second.id) != 0; });
  to.fired -= static_cast<std::int64_t>(missed.rows.size());  // A count is of runs.
  bool has_regular = kept > 0;
  for (const WallTime fire : to_add) {
    operation.add.push_back(occurrence(to, definition.spec.priority, fire));
    // A single definition has one regular run at a time; the others are extra, one after the
    // other.
    const bool makes_up = is_single(definition) && std::exchange(has_regular, true);
    operation.add.back().triggered = operation.add.back().makes_up = makes_up;
    to.fired += 1;
  }
  const auto runs = static_cast<std::int64_t>(kept + to_add.size());
  missed.bare_count -= static_cast<std::int64_t>(to_add.size());
  for (const Missed::Range& range : missed.ranges(definition.schedule)) {
    operation.logs.push_back(
        passed_over(to, LogState::kMissed, range.first, range.count, words(policy.policy)));
  }
  plan_after_missed(definition, operation, has_regular, missed.until);
  log_.info("fires were missed", "task", to.task_id, "missed", total, "run_now", runs);
  change(definition, std::move(operation), std::move(with),
         [this, gone = std::move(gone)](const ChangeDefinition& changed, const Outcome&) {
           recovered(changed.id, gone);
         });
}

// The schedule goes on after what was missed.
void Recurrence::plan_after_missed(ActiveDefinition& definition, ChangeDefinition& operation,
                                   bool has_regular, WallTime until) {
  Definition& to = *operation.to;
  // What runs was triggered: a regular run would have kept its fires from being missed.
  if (is_single(definition) && has_regular) {
    to.next_fire = to.generated_through;
    return;
  }
  const auto next = is_exhausted(definition, to.fired) ? std::nullopt
                    : to.kind == ScheduleKind::kFixedDelay
                        ? std::optional(started_at_)
                        : definition.schedule.next_fire(std::max(to.generated_through, until));
  to.next_fire = next.value_or(WallTime{});
  // What was taken for the last run may have been missed: then others take its place.
  to.state = next ? DefinitionState::kActive : DefinitionState::kEnded;
  if (next && is_single(definition)) {
    add_regular(definition, operation, *next);
  }
}

// What it missed has its outcome; `gone`: rows that do not run.
void Recurrence::recovered(DefinitionId id, const std::set<JobId>& gone) {
  release_promotion();
  ActiveDefinition* definition = catalog_.definition(id);
  if (definition == nullptr) return;
  definition->is_recovering = false;
  recovering_.erase(id);
  for (const JobId one : gone) definition->leaving.erase(one);
  for (auto& [key, job] : std::exchange(definition->parked, {})) sink_.offer(std::move(job));
  if (std::exchange(definition->has_more_due, false)) sink_.reload(definition->row.group);
  watch_next_fire(*definition);
  generate_later(id);
}

}  // namespace carillon::jobtracker
