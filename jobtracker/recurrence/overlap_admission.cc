#include "jobtracker/recurrence/overlap_admission.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kRowsMax = 100'000;
// A start deadline is checked only for a job that is at least this late.
constexpr Duration kLate = std::chrono::milliseconds{500};
constexpr const char* kNextFireCame = "the next fire is due, and overlap is cancel_running";
constexpr const char* kLaterWaits = "a later fire supersedes it";
constexpr const char* kExpired = "not started within its start deadline";
constexpr const char* kGone = "its job was cancelled, suspended or replaced";

bool is_expired(const WaitingJob& job, Duration deadline, WallTime now) {
  return deadline > Duration{} && !was_tried(job) && now > job.trigger_time + deadline;
}

// With queue_one a triggered run waits for its turn.
bool gives_way_to_later(const ActiveDefinition& definition, const WaitingJob& job) {
  return !job.triggered || definition.spec.overlap == Overlap::kCancelRunning;
}

}  // namespace

OverlapAdmission::OverlapAdmission(RecurrenceConfig config, const DownTime& down_time, Plans& plans,
                                   Changes& changes, Quarantine& quarantine, Generation& generation,
                                   Catalog& catalog, ExecutingTable& executing, Batcher& batcher,
                                   JobSink& sink, FeedbackSink& feedback, RunStopper& stopper,
                                   IdSource& ids, SchedulingClock& clock, TaskRunner& task_runner)
    : config_(config),
      down_time_(down_time),
      plans_(plans),
      changes_(changes),
      quarantine_(quarantine),
      generation_(generation),
      catalog_(catalog),
      executing_(executing),
      batcher_(batcher),
      sink_(sink),
      feedback_(feedback),
      stopper_(stopper),
      ids_(ids),
      clock_(clock),
      task_runner_(task_runner) {}

bool OverlapAdmission::admit(WaitingJob& job, WallTime now) {
  if (!job.definition) return admit_one_shot(job, now);
  ActiveDefinition* definition = catalog_.definition(job.definition);
  if (definition == nullptr || definition->supersedes(job)) {
    end_void(std::move(job));
    return false;
  }
  if (definition->is_being_removed || definition->removing.count(job.id) != 0) return false;
  if (definition->blocked.contains(hand_out_key(job))) return false;
  if (was_lost_too_often(job)) return false;  // Its definition is being quarantined.
  if (definition->is_recovering) {
    if (!block(*definition, job, config_.blocked_max)) definition->has_more_due = true;
    return false;
  }
  if (is_expired(job, definition->spec.start_deadline, now)) {
    skip_fire(*definition, std::move(job), LogState::kExpired, kExpired);
    return false;
  }
  const bool goes_on = job.attempt > 0 || definition->running.count(job.id) != 0;
  const bool makes_way = goes_on && definition->spec.overlap == Overlap::kCancelRunning &&
                         was_tried(job) && !definition->blocked.empty();
  if (makes_way) {
    end_retry(*definition, std::move(job));
    return false;
  }
  if (!goes_on && !admit_beside(*definition, job, now)) return false;
  // Its row keeps the count across a restart.
  if (!goes_on)
    job.lost = was_tried(job) ? std::max(job.lost, definition->lost_before)
                              : -std::max(-job.lost, definition->lost_before);
  definition->put_run(job);
  if (!job.triggered)
    definition->row.last_fire = std::max(definition->row.last_fire, job.trigger_time);
  watch_next_fire(*definition);
  return true;
}

// Beside previous runs.
bool OverlapAdmission::admit_beside(ActiveDefinition& definition, WaitingJob& job, WallTime now) {
  const Overlap overlap = definition.spec.overlap;
  if (job.forced || overlap == Overlap::kParallel || !catalog_.is_running(definition)) return true;
  if (job.trigger_time > now) {
    keep_early(job);
    return false;
  }
  const bool is_one = overlap == Overlap::kQueueOne || overlap == Overlap::kCancelRunning;
  const bool waits = job.triggered || overlap != Overlap::kSkip;
  // All but the latest end immediately, so there is room for it.
  const bool has_room = is_one && gives_way_to_later(definition, job);
  if (waits && block(definition, job, has_room ? SIZE_MAX : config_.blocked_max)) {
    if (is_one) keep_latest(definition);
    if (overlap == Overlap::kCancelRunning) make_way(definition);
    return false;
  }
  skip_fire(definition, std::move(job), LogState::kSkipped, kRunBefore);
  return false;
}

// It was to be claimed ahead of its time. It is offered again when the previous run has ended, or
// its time has come. After a change of the clock all rows are read again, and it is not offered
// twice.
void OverlapAdmission::keep_early(const WaitingJob& job) {
  sink_.hold(job.group, job.id);
  const HandOutKey key = hand_out_key(job);
  early_[job.definition].emplace(key, job);
  task_runner_.post_at(clock_.steady_at(job.trigger_time),
                       [this, definition = job.definition, key] { offer_early(definition, key); });
}

void OverlapAdmission::offer_early(DefinitionId definition, const HandOutKey& key) {
  const auto found = early_.find(definition);
  if (found == early_.end()) return;
  const auto place = found->second.find(key);
  if (place == found->second.end()) return;
  const WaitingJob job = std::move(place->second);
  found->second.erase(place);
  if (found->second.empty()) early_.erase(found);
  sink_.release(job.id);
  sink_.offer(job);
}

// For a definition, missed fires are handled at the start.
bool OverlapAdmission::is_missed(const WaitingJob& job) const {
  if (job.definition || job.kind != ScheduleKind::kAt || job.attempt > 0 ||
      !down_time_.was_missed(job.group, job.trigger_time, Duration{}))
    return false;
  const auto spec = wire::decode_spec(job.spec);
  if (!spec.ok()) return false;  // The worker will report the error.
  const Misfire& misfire = spec.value().misfire;
  const bool is_beyond = misfire.policy == MisfirePolicy::kFireAll &&
                         job.trigger_time < down_time_.until() - misfire.window;
  return (misfire.policy == MisfirePolicy::kSkip || is_beyond) &&
         down_time_.was_missed(job.group, job.trigger_time, misfire.threshold);
}

bool OverlapAdmission::expire(WaitingJob job) {
  if (!job.definition) {
    sink_.forget(job.group, job.id);
    end_one_shot(std::move(job));
    return true;
  }
  ActiveDefinition* definition = catalog_.definition(job.definition);
  if (definition == nullptr || definition->supersedes(job) ||
      definition->removing.count(job.id) != 0)
    return true;  // Another operation ends it.
  if (definition->is_recovering) return false;
  sink_.forget(job.group, job.id);
  definition->blocked.erase(hand_out_key(job));
  skip_fire(*definition, std::move(job), LogState::kExpired, kExpired);
  return true;
}

void OverlapAdmission::was_not_claimed(const WaitingJob& job) {
  if (job.definition && was_tried(job)) stopper_.call_off(job.id, kGone);
  if (ActiveDefinition* definition = catalog_.definition(job.definition)) {
    definition->running.erase(job.id);
    unblock(*definition);
  } else if (job.definition) {
    outliving_ended(job);
  }
}

bool OverlapAdmission::admit_one_shot(WaitingJob& job, WallTime now) {
  // A returned job may be too late for its turn, however short that was.
  if (job.attempt == 0 && now <= job.trigger_time + kLate) return true;
  const bool ends =
      is_missed(job) || is_expired(job, wire::glance_at_spec(job.spec).start_deadline, now);
  if (ends) end_one_shot(std::move(job));
  return !ends;
}

// True: it is held here, and its row stays in the table. False: too many are held.
bool OverlapAdmission::block(ActiveDefinition& definition, const WaitingJob& job,
                             std::size_t most) {
  if (definition.blocked.size() >= most) return false;
  definition.blocked.emplace(hand_out_key(job), job);
  return true;
}

// Keeps only the latest of the waiting fires that a later one supersedes.
void OverlapAdmission::keep_latest(ActiveDefinition& definition) {
  const WaitingJob* latest = nullptr;
  std::vector<WaitingJob> passed_by;
  for (const auto& [key, job] : definition.blocked) {
    if (!gives_way_to_later(definition, job)) continue;
    const bool is_later = latest == nullptr || std::pair{job.trigger_time, job.id} >
                                                   std::pair{latest->trigger_time, latest->id};
    if (latest != nullptr) passed_by.push_back(is_later ? *latest : job);
    if (is_later) latest = &job;
  }
  for (WaitingJob& job : passed_by) {
    definition.blocked.erase(hand_out_key(job));
    skip_fire(definition, std::move(job), LogState::kSkipped, kLaterWaits);
  }
}

void OverlapAdmission::unblock(ActiveDefinition& definition) {
  if (definition.is_recovering || catalog_.is_running(definition)) return;
  if (!definition.blocked.empty()) {
    auto first = definition.blocked.extract(definition.blocked.begin());
    sink_.offer(std::move(first.mapped()));
    return;
  }
  const auto early = early_.find(definition.row.id);
  if (early != early_.end()) offer_early(definition.row.id, early->second.begin()->first);
}

void OverlapAdmission::outliving_ended(const WaitingJob& job) {
  catalog_.outliving_ended(job);
  if (ActiveDefinition* next = catalog_.definition(job.group, job.task_id)) unblock(*next);
}

// ---- cancel_running ----

void OverlapAdmission::watch_next_fire(ActiveDefinition& definition) {
  const Definition& row = definition.row;
  if (definition.spec.overlap != Overlap::kCancelRunning || is_single(definition) ||
      definition.running.empty())
    return;
  const auto fire = definition.schedule.next_fire(std::max(clock_.now(), row.last_fire));
  if (!fire || *fire > row.generated_through || *fire == definition.watched_fire) return;
  definition.watched_fire = *fire;
  task_runner_.post_at(clock_.steady_at(*fire), [this, id = row.id, version = row.version,
                                                 fire = *fire] { fire_came(id, version, fire); });
}

void OverlapAdmission::fire_came(DefinitionId id, std::int32_t version, WallTime fire) {
  ActiveDefinition* definition = catalog_.definition(id);
  if (definition == nullptr || definition->row.version != version) return;
  if (clock_.now() < fire) {  // The clock moved back.
    definition->watched_fire = {};
    return watch_next_fire(*definition);
  }
  const auto is_before = [fire](const auto& run) { return run.second.trigger_time < fire; };
  if (definition->row.last_fire < fire &&
      std::any_of(definition->running.begin(), definition->running.end(), is_before))
    make_way(*definition);
}

// Current runs get a stop request, and waiting retries end.
void OverlapAdmission::make_way(ActiveDefinition& definition) {
  const DefinitionId id = definition.row.id;
  stopper_.stop_runs_of(id, kNextFireCame);
  const auto waits_for_retry = [this](const ActiveDefinition& one, JobId job) {
    return one.running.contains(job) && !one.removing.contains(job) &&
           executing_.find(job) == nullptr;
  };
  const bool has_retry =
      std::any_of(definition.running.begin(), definition.running.end(),
                  [&](const auto& run) { return waits_for_retry(definition, run.first); });
  if (!has_retry) return;
  ReadOccurrences question{.definition = id, .group = definition.row.group, .limit = kRowsMax};
  batcher_.ask(question, [this, id, waits_for_retry](Result<ReadAnswer> answer) {
    if (!answer.ok()) return;  // The retry is offered later, and ends then.
    for (WaitingJob& job : std::get<JobsAnswer>(answer.value()).jobs) {
      ActiveDefinition* found = catalog_.definition(id);
      if (found == nullptr) return;
      const bool ends =
          was_tried(job) && !found->supersedes(job) && waits_for_retry(*found, job.id);
      if (!ends) continue;
      sink_.forget(job.group, job.id);
      end_retry(*found, std::move(job));
    }
  });
}

// ---- ends without a run ----

void OverlapAdmission::end_one_shot(WaitingJob job) {
  const bool was_missed = is_missed(job);
  end_waiting(std::move(job), was_missed ? LogState::kMissed : LogState::kExpired,
              was_missed ? "it was due while no job tracker ran" : kExpired);
}

// For a single definition, the next regular run is created in the same operation, as at any end.
void OverlapAdmission::end_retry(ActiveDefinition& definition, WaitingJob job) {
  quarantine_.count_lost(definition, job);
  if (definition.row.state == DefinitionState::kActive)
    return skip_fire(definition, std::move(job), LogState::kCancelled, kNextFireCame);
  end_waiting(std::move(job), LogState::kCancelled, kNextFireCame);
}

void OverlapAdmission::end_void(WaitingJob job) {
  if (job.attempt == 0 && !job.triggered) return;
  end_waiting(std::move(job), LogState::kCancelled, kGone);
}

// Ends an occurrence without a run, or without its remaining retries. For a single definition the
// next fire of the schedule follows.
void OverlapAdmission::skip_fire(ActiveDefinition& definition, WaitingJob job, LogState state,
                                 std::string message) {
  // The fire has passed: a resume must not repeat it, even if the clock moves back.
  if (!job.triggered)
    definition.row.last_fire = std::max(definition.row.last_fire, job.trigger_time);
  if (!is_single(definition) || job.triggered) {
    const bool counts = was_tried(job) || (job.triggered && !job.makes_up);
    return counts ? end_waiting(std::move(job), state, std::move(message))
                  : skip_uncounted(definition, std::move(job), state, std::move(message));
  }
  definition.removing.insert(job.id);
  changes_.when_settled(
      definition.row.id, [this, job = std::move(job), state,
                          message = std::move(message)](ActiveDefinition& settled_one) mutable {
        if (settled_one.row.version != job.version ||
            settled_one.row.state != DefinitionState::kActive) {
          settled_one.removing.erase(job.id);
          return;
        }
        LogEntry entry =
            plans_.passed_over(settled_one.row, state, job.trigger_time, 1, std::move(message));
        ChangeDefinition operation = plans_.next_cycle(settled_one, clock_.now(), was_tried(job));
        leave_with(settled_one, job, std::move(entry), std::move(operation),
                   [this](DefinitionId id) { changes_.remove_if_over(id); });
      });
}

// Like a fire that ended without a run, but only runs count: another fire takes its place.
void OverlapAdmission::skip_uncounted(ActiveDefinition& definition, WaitingJob job, LogState state,
                                      std::string message) {
  if (!definition.spec.schedule.count) {
    return end_waiting(std::move(job), state, std::move(message));
  }
  definition.removing.insert(job.id);
  changes_.when_settled(
      definition.row.id, [this, job = std::move(job), state,
                          message = std::move(message)](ActiveDefinition& settled_one) mutable {
        if (settled_one.row.version != job.version) {
          settled_one.removing.erase(job.id);
          return;
        }
        LogEntry entry =
            plans_.passed_over(settled_one.row, state, job.trigger_time, 1, std::move(message));
        leave_with(settled_one, job, std::move(entry), plans_.uncounted(settled_one),
                   [this](DefinitionId id) { generation_.generate_later(id); });
      });
}

// The occurrence leaves the table in the transaction of the change.
void OverlapAdmission::leave_with(ActiveDefinition& definition, const WaitingJob& job,
                                  LogEntry entry, ChangeDefinition operation,
                                  std::function<void(DefinitionId)> then) {
  entry.job_id = job.id;
  if (was_tried(job)) feedback_.address(entry, job);
  std::vector<Operation> with;
  with.emplace_back(ChangeWaiting{.from = job, .log = entry});
  changes_.change(definition, std::move(operation), std::move(with),
                  [this, job, entry = std::move(entry), then = std::move(then)](
                      const ChangeDefinition& changed, const Outcome& outcome) {
                    if (outcome.kind == OutcomeKind::kDone) feedback_.was_stored(entry);
                    if (was_tried(job)) stopper_.call_off(job.id, entry.message);
                    if (ActiveDefinition* one = catalog_.definition(changed.id)) left(*one, job.id);
                    then(changed.id);
                  });
}

// An occurrence has ended without a run; it may have been handed out and returned.
void OverlapAdmission::left(ActiveDefinition& definition, JobId id) {
  definition.removing.erase(id);
  definition.running.erase(id);
  unblock(definition);
}

void OverlapAdmission::end_waiting(WaitingJob job, LogState state, std::string message) {
  LogEntry entry{.id = ids_.next(clock_.now()),
                 .job_id = job.id,
                 .group = job.group,
                 .task_id = job.task_id,
                 .definition = job.definition,
                 .state = state,
                 .trigger_time = job.trigger_time,
                 .ended_at = clock_.now(),
                 .message = std::move(message)};
  const DefinitionId id = job.definition;
  // Feedback is sent for runs of a schedule and triggered runs, but not for fires without a run.
  if (!id || was_tried(job) || !is_fire(job)) feedback_.address(entry, job);
  if (ActiveDefinition* definition = catalog_.definition(id)) definition->removing.insert(job.id);
  batcher_.post(Urgency::kCompletion,
                ChangeWaiting{.from = std::move(job), .log = std::move(entry)},
                [this, id](Operation& operation, const Outcome& outcome, const Error*) {
                  const auto& removed = std::get<ChangeWaiting>(operation);
                  if (outcome.kind == OutcomeKind::kDone) feedback_.was_stored(*removed.log);
                  if (was_tried(removed.from))
                    stopper_.call_off(removed.from.id, removed.log->message);
                  sink_.forget(removed.from.group, removed.from.id);
                  if (ActiveDefinition* definition = catalog_.definition(id)) {
                    left(*definition, removed.from.id);
                  }
                  changes_.remove_if_over(id);
                });
}

}  // namespace carillon::jobtracker
