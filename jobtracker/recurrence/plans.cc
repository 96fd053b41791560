#include "jobtracker/recurrence/plans.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

}  // namespace

bool is_single(const ActiveDefinition& definition) {
  return definition.row.kind == ScheduleKind::kFixedDelay ||
         definition.spec.overlap == Overlap::kSkip;
}

bool is_exhausted(const ActiveDefinition& definition, std::int64_t fired) {
  return definition.spec.schedule.count && fired >= *definition.spec.schedule.count;
}

Plans::Plans(Catalog& catalog, ExecutingTable& executing, FeedbackSink& feedback, IdSource& ids,
             SchedulingClock& clock, const DownTime& down_time, const Promotion& promotion)
    : catalog_(catalog),
      executing_(executing),
      feedback_(feedback),
      ids_(ids),
      clock_(clock),
      down_time_(down_time),
      promotion_(promotion) {}

ChangeDefinition Plans::change_of(const ActiveDefinition& definition) const {
  return ChangeDefinition{.id = definition.row.id,
                          .expected_version = definition.row.version,
                          .expected_generated_through = definition.row.generated_through,
                          .to = definition.row,
                          .group = definition.row.group};
}

ChangeDefinition Plans::next_cycle(ActiveDefinition& definition, WallTime after, bool ran) {
  ChangeDefinition operation = change_of(definition);
  Definition& to = *operation.to;
  if (!ran) to.fired -= 1;
  const bool is_delay = to.kind == ScheduleKind::kFixedDelay;
  const auto next = is_exhausted(definition, to.fired) ? std::nullopt
                    : is_delay
                        ? definition.schedule.next_after_end(after)
                        : definition.schedule.next_fire(std::max(after, to.generated_through));
  if (!next) {
    // It is removed when nothing of it is left: a triggered run may still wait in the table.
    to.state = DefinitionState::kEnded;
    to.next_fire = kNever;
    return operation;
  }
  pass_over(definition, operation, *next - kTick, LogState::kSkipped, kRunBefore);
  add_regular(definition, operation, *next);
  return operation;
}

ChangeDefinition Plans::uncounted(ActiveDefinition& definition) {
  ChangeDefinition operation = change_of(definition);
  Definition& to = *operation.to;
  to.fired -= 1;
  // Its missed fires are being checked: it continues afterwards.
  if (to.state != DefinitionState::kEnded || definition.is_recovering) return operation;
  // It was counted as the last one: the next one takes its place.
  const bool is_one = is_single(definition);
  const WallTime after =
      is_one ? std::max(clock_.now(), to.generated_through) : to.generated_through;
  const Duration threshold = definition.spec.misfire.threshold;
  auto next = definition.schedule.next_fire(after);
  const bool was_missed = next && down_time_.was_missed(to.group, *next, threshold);
  const WallTime began = down_time_.until() - threshold;
  if (!is_one && next && *next <= began) next = definition.schedule.next_fire(began);
  if (!next || is_exhausted(definition, to.fired)) return operation;
  pass_over(definition, operation, *next - kTick,
            was_missed ? LogState::kMissed : LogState::kSkipped,
            was_missed ? kMissedForGood : kRunBefore);
  to.state = DefinitionState::kActive;
  if (is_one) {
    add_regular(definition, operation, *next);
  } else {
    to.next_fire = *next;
  }
  return operation;
}

void Plans::pass_over(ActiveDefinition& definition, ChangeDefinition& operation, WallTime until,
                      LogState state, std::string message) {
  const Definition& row = definition.row;
  if (row.kind == ScheduleKind::kFixedDelay) return;  // It fires when its run has ended.
  // A finished schedule that is not finished any more, because a run did not count, continues with
  // a later fire.
  const auto first = row.next_fire > row.generated_through
                         ? std::optional(row.next_fire)
                         : definition.schedule.next_fire(row.generated_through);
  if (!first || *first > until) return;
  const std::int64_t count = definition.schedule.count_fires(*first - kTick, until, kNoLimit);
  operation.logs.push_back(passed_over(row, state, *first, count, std::move(message)));
}

void Plans::add_regular(const ActiveDefinition& definition, ChangeDefinition& operation,
                        WallTime fire) {
  Definition& to = *operation.to;
  to.next_fire = fire;
  to.generated_through = fire;
  to.fired += 1;
  operation.add.push_back(occurrence(to, definition.spec.priority, fire));
}

ChangeDefinition Plans::suspension(ActiveDefinition& definition, DefinitionState state,
                                   std::string message) {
  ChangeDefinition operation = change_of(definition);
  operation.expected_generated_through.reset();
  operation.to->state = state;
  operation.to->version += 1;
  call_off(definition, operation,
           passed_over(definition.row, LogState::kCancelled, {}, 0, std::move(message)));
  operation.uncounts_voided = true;
  operation.spares_triggered = state == DefinitionState::kSuspended;
  return operation;
}

// Removes waiting runs. Due fires, waiting retries and triggered runs end with a log row; the store
// decides which, because some may be on their way into the table. Due fires without an occurrence
// end with a log row too, because the previous run has not ended.
void Plans::call_off(ActiveDefinition& definition, ChangeDefinition& operation, LogEntry log) {
  const Definition& row = definition.row;
  if (row.state == DefinitionState::kActive && !is_exhausted(definition, row.fired)) {
    const bool waits = is_single(definition);
    pass_over(definition, operation, log.ended_at,
              waits ? LogState::kSkipped : LogState::kCancelled, waits ? kRunBefore : log.message);
  }
  log.id = ids_.next_many(log.ended_at, 1 + kVoidedRunsMax);
  feedback_.address(log, {.group = row.group, .task_id = row.task_id, .definition = row.id});
  operation.void_waiting = true;
  operation.voided = std::move(log);
}

ChangeDefinition Plans::removal(ActiveDefinition& definition, WallTime fire, std::string message) {
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

// A job that was claimed ahead of its time has its own outcome.
WallTime Plans::first_called_off(ActiveDefinition& definition) const {
  const WallTime now = clock_.now();
  const Definition& row = definition.row;
  if (row.state != DefinitionState::kActive) return now;
  WallTime after = std::max(now, row.last_fire);
  for (const auto& [id, run] : definition.running) after = std::max(after, run.trigger_time);
  if (is_single(definition) && row.next_fire > after) return row.next_fire;
  if (is_exhausted(definition, row.fired)) return now;
  return definition.schedule.next_fire(after).value_or(now);
}

// After its rows were voided, a pending claim finds none.
bool Plans::has_regular_run(const ActiveDefinition& definition) const {
  return std::any_of(definition.running.begin(), definition.running.end(), [this](const auto& run) {
    const Executing* entry = executing_.find(run.first);
    return entry != nullptr && entry->phase != Phase::kClaiming && !entry->row.job.triggered;
  });
}

WaitingJob Plans::occurrence(const Definition& row, int priority, WallTime trigger) {
  return occurrence(ids_.next_job(clock_.now()), row, priority, trigger);
}

WaitingJob Plans::occurrence(JobId id, const Definition& row, int priority,
                             WallTime trigger) const {
  return WaitingJob{.id = id,
                    .group = row.group,
                    .task_id = row.task_id,
                    .definition = row.id,
                    .version = row.version,
                    .kind = row.kind,
                    .priority = priority,
                    .trigger_time = trigger,
                    .delayed = trigger > promotion_.horizon_end()};
}

WaitingJob Plans::triggered(const ActiveDefinition& definition, std::string spec, bool forced) {
  WaitingJob job = occurrence(definition.row, kPriorityTriggered, clock_.now());
  job.triggered = true;
  job.forced = forced;
  job.spec = std::move(spec);
  return job;
}

LogEntry Plans::passed_over(const Definition& row, LogState state, WallTime first,
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

ChangeDefinition Plans::resumption(ActiveDefinition& definition) {
  const WallTime now = clock_.now();
  ChangeDefinition operation = change_of(definition);
  operation.expected_generated_through.reset();
  Definition& to = *operation.to;
  // Its version stays: runs that were triggered while it was suspended continue.
  to.state = DefinitionState::kActive;
  // Rows generated ahead were voided, so fires from now on are generated again. Past fires are not
  // repeated, even if the clock moved back.
  to.generated_through = std::max(now, to.last_fire);
  // With one run at a time, each earlier fire has its outcome, too.
  const bool passed_over = is_single(definition) && to.kind != ScheduleKind::kFixedDelay;
  if (passed_over)
    to.generated_through = std::max(to.generated_through, definition.row.generated_through - kTick);
  const auto next = is_exhausted(definition, to.fired) ? std::nullopt
                    : to.kind == ScheduleKind::kFixedDelay
                        ? definition.schedule.next_after_end(now)
                        : definition.schedule.next_fire(to.generated_through);
  if (is_single(definition) && has_regular_run(definition)) {
    to.next_fire = to.generated_through;  // Its end creates the next one, if there is one.
  } else if (!next) {
    to.next_fire = kNever;
    if (to.kind != ScheduleKind::kManual) to.state = DefinitionState::kEnded;
  } else if (is_single(definition)) {
    add_regular(definition, operation, *next);
  } else {
    to.next_fire = *next;
  }
  return operation;
}

}  // namespace carillon::jobtracker
