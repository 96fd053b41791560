// After a restart: the schedule starts again where the last job tracker left it, and what was
// missed meanwhile ends in one recorded outcome a definition.
#include <algorithm>
#include <deque>
#include <utility>

#include "jobtracker/recurrence/recurrence.h"
#include "shared/base/assert.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kOccurrencesMax = 100'000;
constexpr int kRecoveredAtOnce = 16;

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

bool Recurrence::was_missed(WallTime trigger, Duration threshold) const {
  return dead_from_ != WallTime{} && trigger > dead_from_ && trigger <= started_at_ - threshold;
}

void Recurrence::start(const StartAnswer& found) {
  dead_from_ = found.last_alive;
  started_at_ = clock_.now();
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
    if (!is_single(definition) && row.kind != ScheduleKind::kManual) {
      const double rate = static_cast<double>(definition.schedule.count_fires(
                              started_at_, started_at_ + std::chrono::minutes{1}, 60'000)) /
                          60.0;
      rates_[row.id] = rate;
      rows_per_second_ += rate;
    }
    recover(definition);
  }
  for (const ExecutingJob& executing : found.executing) {
    catalog_.keep_definition_id(executing.job.definition);
    if (ActiveDefinition* definition = catalog_.definition(executing.job.definition)) {
      definition->running.emplace(executing.job.id, executing.job.trigger_time);
    }
  }
  for (const WaitingJob& retry : found.retries) {
    ActiveDefinition* definition = catalog_.definition(retry.definition);
    if (definition != nullptr && definition->row.version == retry.version)
      definition->running.emplace(retry.id, retry.trigger_time);
  }
  for (int i = 0; i < kRecoveredAtOnce; ++i) recover_next();
  pass();
}

// Marks a definition whose rows must be looked at before anything of it runs, because it may have
// missed fires.
void Recurrence::recover(ActiveDefinition& definition) {
  const Definition& row = definition.row;
  if (row.kind == ScheduleKind::kManual || row.state == DefinitionState::kSuspended) return;
  bool must = false;
  const Duration threshold = definition.spec.misfire.threshold;
  if (is_single(definition)) {
    must = row.state == DefinitionState::kActive && was_missed(row.next_fire, threshold);
  } else {
    const auto first = definition.schedule.next_fire(dead_from_);
    must = dead_from_ != WallTime{} && first && was_missed(*first, threshold);
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
      recover_with(id, std::get<OccurrencesAnswer>(answer.value()));
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

void Recurrence::recover_with(DefinitionId id, const OccurrencesAnswer& found) {
  const auto work = [this, found](ActiveDefinition& definition) {
    const auto release = [this](DefinitionId released, const std::vector<JobId>& gone) {
      release_promotion();
      ActiveDefinition* still = catalog_.definition(released);
      if (still == nullptr) return;
      still->is_recovering = false;
      recovering_.erase(released);
      for (const JobId one : gone) still->leaving.erase(one);
      for (WaitingJob& job : std::exchange(still->parked, {})) sink_.offer(std::move(job));
      when_settled(released, [this](ActiveDefinition& ready) { generate(ready, horizon_end()); });
      remove_if_over(released);
    };
    const Misfire& policy = definition.spec.misfire;
    std::vector<WaitingJob> missed;  // rows that exist
    for (const WaitingJob& job : found.waiting) {
      if (job.version != definition.row.version) continue;  // Voided since it was read.
      const bool is_retry = job.attempt > 0;
      if (!is_retry && !job.triggered && was_missed(job.trigger_time, policy.threshold))
        missed.push_back(job);
    }
    std::sort(missed.begin(), missed.end(),
              [](const auto& a, const auto& b) { return a.trigger_time < b.trigger_time; });

    ChangeDefinition operation = change_of(definition);
    Definition& to = *operation.to;
    // Fires that never got a row: the newest ones, as many as may run, and a count of all.
    std::deque<WallTime> bare;
    std::int64_t bare_count = 0;
    WallTime first_bare{};
    const WallTime until = started_at_ - policy.threshold;
    const std::size_t keep_max =
        policy.policy == MisfirePolicy::kFireAll
            ? static_cast<std::size_t>(std::max<std::int64_t>(policy.max, 0))
            : 1;
    if (to.state == DefinitionState::kActive) {
      const bool is_delay = to.kind == ScheduleKind::kFixedDelay;
      std::optional<WallTime> fire =
          to.next_fire > to.generated_through ? std::optional(to.next_fire)
          : is_delay                          ? std::nullopt
                                              : definition.schedule.next_fire(to.generated_through);
      // A single run that goes on passes its fires over itself, when it ends.
      if (is_single(definition) && !definition.running.empty()) fire.reset();
      while (fire && *fire <= until) {
        if (bare_count++ == 0) first_bare = *fire;
        bare.push_back(*fire);
        if (bare.size() > keep_max) bare.pop_front();
        to.generated_through = *fire;
        fire = is_delay ? std::nullopt : definition.schedule.next_fire(*fire);
      }
    }
    const auto total = static_cast<std::int64_t>(missed.size()) + bare_count;
    if (total == 0) return release(definition.row.id, {});

    // Which of them run: the newest, as many as the policy allows.
    std::size_t allowed = policy.policy == MisfirePolicy::kSkip ? 0 : keep_max;
    if (definition.spec.schedule.count) {
      const std::int64_t ran = to.fired - static_cast<std::int64_t>(missed.size());
      const std::int64_t left = std::max<std::int64_t>(*definition.spec.schedule.count - ran, 0);
      allowed = std::min(allowed, static_cast<std::size_t>(left));
    }
    const auto is_in_window = [&](WallTime fire) {
      return policy.policy != MisfirePolicy::kFireAll || fire >= started_at_ - policy.window;
    };
    std::vector<WallTime> to_add;
    while (allowed > 0 && !bare.empty() && is_in_window(bare.back())) {
      to_add.push_back(bare.back());
      bare.pop_back();
      --allowed;
    }
    std::vector<Operation> with;
    std::vector<JobId> gone;
    std::size_t kept = 0;
    const WallTime first_missed = missed.empty() ? first_bare : missed.front().trigger_time;
    for (auto job = missed.rbegin(); job != missed.rend(); ++job) {
      if (allowed > 0 && is_in_window(job->trigger_time)) {
        --allowed;
        ++kept;
        continue;
      }
      sink_.forget(job->group, job->id);
      definition.leaving.insert(job->id);  // A read under way may bring the row back.
      gone.push_back(job->id);
      std::erase_if(definition.parked,
                    [&](const WaitingJob& parked) { return parked.id == job->id; });
      with.emplace_back(ChangeWaiting{.from = *job});
    }
    std::reverse(to_add.begin(), to_add.end());
    to.fired -= static_cast<std::int64_t>(missed.size() - kept);  // A count is of runs.
    bool has_regular = kept > 0;
    for (const WallTime fire : to_add) {
      operation.add.push_back(occurrence(to, definition.spec.priority, fire));
      // A single definition has one regular run at a time; the others are extra, one after the
      // other.
      operation.add.back().triggered = is_single(definition) && std::exchange(has_regular, true);
      to.fired += 1;
    }
    const auto runs = static_cast<std::int64_t>(kept + to_add.size());
    if (total > runs) {
      operation.logs.push_back(
          passed_over(to, LogState::kMissed, first_missed, total - runs, words(policy.policy)));
    }
    const bool waits_for_run =
        is_single(definition) && (has_regular || !definition.running.empty());
    const auto next = is_exhausted(definition, to.fired) ? std::nullopt
                      : to.kind == ScheduleKind::kFixedDelay
                          ? std::optional(started_at_)
                          : definition.schedule.next_fire(std::max(to.generated_through, until));
    to.next_fire = waits_for_run ? to.generated_through : next.value_or(WallTime{});
    if (!waits_for_run && !next) to.state = DefinitionState::kEnded;
    if (!waits_for_run && next && is_single(definition)) add_regular(definition, operation, *next);
    log_.info("fires were missed", "task", to.task_id, "missed", total, "run_now", runs);
    change(definition, std::move(operation), std::move(with),
           [release, gone](const ChangeDefinition& changed, const Outcome&) {
             release(changed.id, gone);
           });
  };
  when_settled(id, work, [this] { release_promotion(); });
}

}  // namespace carillon::jobtracker
