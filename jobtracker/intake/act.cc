#include "jobtracker/intake/act.h"

#include <algorithm>
#include <utility>

#include "jobtracker/intake/script_change.h"
#include "shared/base/joined.h"
#include "shared/wire/codec.h"
#include "shared/wire/spec_json.h"

namespace carillon::jobtracker {
namespace {

// Most look-ups of a job that moves during an action.
constexpr int kLooksMax = 5;
constexpr std::size_t kActBytes = 1'000;  // size of an action besides its message
constexpr const char* kInQuarantine = " is in quarantine and does not run until it is resumed";

std::string word(const wire::Act& act) {
  switch (act.verb) {
    case wire::Verb::kCancel:
      return "cancelled";
    case wire::Verb::kSuspend:
      return "suspended";
    case wire::Verb::kResume:
      return "resumed";
    case wire::Verb::kTrigger:
      return "triggered";
    case wire::Verb::kKill:
      return "told to stop";
    case wire::Verb::kSetScript:
      return "now has another script";
    case wire::Verb::kSetPriority:
      return "now has priority " + std::to_string(act.priority);
    case wire::Verb::kTag:
      return "now has the tag " + act.remark;
    case wire::Verb::kUntag:
      return "has no tag " + act.remark + " any more";
    case wire::Verb::kAddExecutors:
    case wire::Verb::kSplitGroup:
    case wire::Verb::kCleanHistory:
    case wire::Verb::kRemoveGroup:
    case wire::Verb::kDrainNode:
    case wire::Verb::kIsolateNode:
    case wire::Verb::kReleaseNode:
    case wire::Verb::kSilence:
    case wire::Verb::kTestAlarm:
      break;  // Not about a job.
  }
  return {};
}

bool stops(const wire::Act& act) {
  return act.verb == wire::Verb::kCancel || act.verb == wire::Verb::kKill;
}

bool is_about_tag(const wire::Act& act) {
  return act.verb == wire::Verb::kTag || act.verb == wire::Verb::kUntag;
}

void change_tag(JobSpec& spec, const wire::Act& act) {
  std::erase(spec.tags, act.remark);
  if (act.verb == wire::Verb::kTag) spec.tags.push_back(act.remark);
}

// What an action sets, as JSON.
std::string audited(const wire::Act& act, JobId made) {
  wire::Row row;
  if (const JobId job = made ? made : act.job_id; job)
    row.emplace_back("job_id", std::to_string(job.value));
  if (act.verb == wire::Verb::kSuspend) row.emplace_back("suspended", true);
  if (act.verb == wire::Verb::kResume) row.emplace_back("suspended", false);
  if (act.verb == wire::Verb::kSetPriority)
    row.emplace_back("priority", std::int64_t{act.priority});
  if (is_about_tag(act)) {
    row.emplace_back("tag", act.remark);
  } else if (act.verb == wire::Verb::kSetScript) {
    row.emplace_back("language", act.language);
    row.emplace_back("remark", act.remark);
    row.emplace_back("bytes", static_cast<std::int64_t>(act.payload.value_or("").size()));
  } else if (act.payload) {
    row.emplace_back("payload_bytes", static_cast<std::int64_t>(act.payload->size()));
  }
  if (act.force) row.emplace_back("force", true);
  if (!act.addresses.empty()) row.emplace_back("addresses", joined(act.addresses, " "));
  return row.empty() ? "" : wire::row_to_json(row);
}

std::string audited_state(bool is_suspended) {
  return wire::row_to_json({{"suspended", is_suspended}});
}

// Whether this request, and not an earlier one, made the change.
bool has_changed(const RequestOutcome& outcome, const Error* refused) {
  return refused == nullptr && !outcome.answered_before &&
         outcome.outcomes.front().kind == OutcomeKind::kDone;
}

// Whether its run differs from other runs of the job.
bool changes_run(const wire::Act& act) { return act.payload || !act.addresses.empty(); }

// Whether a waiting job gets another spec. A run without its own spec has its definition's.
bool changes_spec(const wire::Act& act, const WaitingJob& job) {
  return act.verb == wire::Verb::kSetPriority || is_about_tag(act)
             ? !job.spec.empty()
             : act.verb == wire::Verb::kTrigger && changes_run(act);
}

// The spec for one run with another payload, other executors or another priority.
Result<std::string> spec_with(JobSpec spec, const wire::Act& act) {
  if (act.payload) spec.payload = *act.payload;
  if (!act.addresses.empty()) spec.push.addresses = act.addresses;
  if (act.verb == wire::Verb::kSetPriority) spec.priority = act.priority;
  if (is_about_tag(act)) change_tag(spec, act);
  // A triggered run cannot be missed; older rows may have a misfire policy.
  if (spec.schedule.kind == ScheduleKind::kManual) spec.misfire = {};
  spec.task_id.clear();  // A generated task id cannot be chosen, and rows do not have it.
  CARILLON_TRY(spec.validate());
  return wire::encode_spec_of_row(spec);
}

}  // namespace

ActIntake::ActIntake(Catalog& catalog, const Ownership& ownership, ExecutingTable& executing,
                     Workers& workers, Definitions& definitions, AttemptReclaimer& ends,
                     Batcher& batcher, JobSink& sink, FeedbackSink& feedback, ClientLink& clients,
                     RunStops& stops, Auditor& auditor, IdSource& ids, SchedulingClock& clock)
    : catalog_(catalog),
      ownership_(ownership),
      executing_(executing),
      workers_(workers),
      definitions_(definitions),
      ends_(ends),
      batcher_(batcher),
      sink_(sink),
      feedback_(feedback),
      clients_(clients),
      stops_(stops),
      auditor_(auditor),
      ids_(ids),
      clock_(clock) {}

void ActIntake::act(const Asker& asker, wire::Act message, std::size_t bytes) {
  auto pending =
      std::make_shared<Pending>(Pending{.asker = asker, .act = std::move(message), .bytes = bytes});
  const wire::Act& act = pending->act;
  pending->change = {.action = action_of(act.verb),
                     .group = act.group,
                     .task_id = act.task_id,
                     .after = audited(act, {})};
  if (const Status valid = act.request.validate(); !valid.ok()) {
    return refuse(pending, valid.error().code, valid.error().message);
  }
  if (const Status room = batcher_.check_room(); !room.ok()) {
    return refuse(pending, room.error().code, room.error().message);
  }
  if (act.verb == wire::Verb::kSetPriority && (act.priority < 0 || act.priority > kPriorityMax)) {
    return refuse(pending, ErrorCode::kInvalidArgument,
                  "priority is " + std::to_string(act.priority) + ", must be 0 to " +
                      std::to_string(kPriorityMax));
  }
  if (act.task_id.empty() && !act.job_id)
    return refuse(pending, ErrorCode::kInvalidArgument, "a task id or a job id is required");
  if (!act.task_id.empty()) {
    const Group* group = catalog_.group(act.group);
    if (group == nullptr)
      return refuse(pending, ErrorCode::kNotFound,
                    "there is no group '" + act.group + "' (--group names the group)");
    pending->group = catalog_.part(group->id, act.task_id);
    pending->change.group = group->name;
    if (!ownership_.has(pending->group)) {
      return clients_.answer(asker,
                             ownership_.elsewhere(pending->group, catalog_.parts(group->id)));
    }
    if (ActiveDefinition* definition = catalog_.definition(pending->group, act.task_id)) {
      return act_on_definition(pending, *definition);
    }
  }
  look_again(pending);
}

void ActIntake::look_again(const PendingPtr& pending) {
  if (++pending->looks > kLooksMax) {
    return decline(pending, ErrorCode::kConflict, pending->name() + " is being changed, try again");
  }
  Find question{
      .group = pending->group, .task_id = pending->act.task_id, .job_id = pending->act.job_id};
  batcher_.hold(pending->bytes);
  batcher_.ask(question, [this, pending](Result<ReadAnswer> answer) {
    batcher_.release(pending->bytes);
    if (!answer.ok()) return refuse(pending, answer.error().code, answer.error().message);
    act_on_job(pending, std::move(std::get<FindAnswer>(answer.value())));
  });
}

void ActIntake::refuse(const PendingPtr& pending, ErrorCode code, std::string message) {
  Error why{code, std::move(message)};
  auditor_.refused(pending->asker, pending->change, why);
  clients_.answer(pending->asker, wire::ErrorReply{std::move(why)});
}

// A request that is rejected now may have succeeded when it was first sent: the store knows.
void ActIntake::decline(const PendingPtr& pending, ErrorCode code, std::string message) {
  const wire::ErrorReply reply{Error{code, std::move(message)}};
  pending->act.payload.reset();  // The payload is not counted any more.
  NumberedRequest number{.client = pending->act.request.client,
                         .sequence = pending->act.request.sequence,
                         .answer = wire::encode({.correlation = 0, .message = reply})};
  batcher_.post_request(
      Urgency::kRequest, std::move(number), {},
      [this, pending, reply](const RequestOutcome& outcome, const Error* refused) {
        if (refused == nullptr && outcome.answered_before) return answer_first(pending, outcome);
        auditor_.refused(pending->asker, pending->change, reply.error);
        clients_.answer(pending->asker, reply);
      },
      {});
}

// A resend gets the first answer.
void ActIntake::answer_first(const PendingPtr& pending, const RequestOutcome& outcome) {
  for (const Outcome& one : outcome.outcomes) {
    if (one.kind == OutcomeKind::kDone) continue;
    return refuse(pending, ErrorCode::kConflict,
                  pending->name() + " has just changed its state, check it again");
  }
  auto first = wire::decode(outcome.answer);
  const bool is_answer = !outcome.answer.empty() && first.ok() &&
                         (std::holds_alternative<wire::Acted>(first.value().message) ||
                          std::holds_alternative<wire::ErrorReply>(first.value().message));
  if (!is_answer) {
    return refuse(pending, ErrorCode::kConflict,
                  "this request's number was already used for another request");
  }
  clients_.answer(pending->asker, std::move(first.value().message));
}

// Answers when the request's transaction is on disk, or was before.
ForRequest ActIntake::for_request(const PendingPtr& pending, std::string message, JobId made) {
  wire::Acted acted{
      .job_id = made, .message = std::move(message), .fingerprint = pending->act.fingerprint};
  NumberedRequest number{.client = pending->act.request.client,
                         .sequence = pending->act.request.sequence,
                         .answer = wire::encode({.correlation = 0, .message = acted})};
  pending->change.after = audited(pending->act, made);
  number.audit = auditor_.row(pending->asker, pending->change);
  const std::size_t bytes = pending->bytes + kActBytes;
  batcher_.hold_bytes(bytes);  // It may wait for another change.
  return {.number = std::move(number),
          .on_request = [this, pending, acted, bytes](const RequestOutcome& outcome,
                                                      const Error* refused) {
            batcher_.release_bytes(bytes);
            if (refused != nullptr) {
              const std::string why = pending->name() + " " + refused->message;
              const bool may_be_resend =
                  refused->code == ErrorCode::kConflict || refused->code == ErrorCode::kNotFound;
              return may_be_resend ? decline(pending, refused->code, why)
                                   : refuse(pending, refused->code, refused->message);
            }
            if (outcome.answered_before) return answer_first(pending, outcome);
            for (const Outcome& one : outcome.outcomes) {
              if (one.kind == OutcomeKind::kDone) continue;
              return refuse(pending, ErrorCode::kConflict,
                            pending->name() + " has just changed its state, check it again");
            }
            clients_.answer(pending->asker, acted);
          }};
}

// ---- definitions ----

void ActIntake::act_on_definition(const PendingPtr& pending, ActiveDefinition& definition) {
  const wire::Verb verb = pending->act.verb;
  if (verb == wire::Verb::kSuspend || verb == wire::Verb::kResume)
    pending->change.before = audited_state(is_held(definition.row.state));
  switch (verb) {
    case wire::Verb::kCancel:
      pending->change.before = audited_spec(definition.spec);
      return cancel_definition(pending, definition);
    case wire::Verb::kTrigger:
      return trigger_definition(pending, definition);
    case wire::Verb::kSuspend:
      return definitions_.suspend(definition.row.id,
                                  for_request(pending, pending->name() + " " + word(pending->act)));
    case wire::Verb::kResume:
      return definitions_.resume(definition.row.id,
                                 for_request(pending, pending->name() + " " + word(pending->act)));
    case wire::Verb::kKill:
      return kill_definition(pending, definition);
    case wire::Verb::kSetScript:
      return set_script(pending, definition);
    case wire::Verb::kTag:
    case wire::Verb::kUntag:
      return set_tag(pending, definition);
    case wire::Verb::kSetPriority:
      return decline(pending, ErrorCode::kInvalidArgument,
                     pending->name() +
                         " is a definition (give the job id of one of its waiting runs, or submit "
                         "it again with another priority and --replace-on-exist)");
    case wire::Verb::kAddExecutors:
    case wire::Verb::kSplitGroup:
    case wire::Verb::kCleanHistory:
    case wire::Verb::kRemoveGroup:
    case wire::Verb::kDrainNode:
    case wire::Verb::kIsolateNode:
    case wire::Verb::kReleaseNode:
    case wire::Verb::kSilence:
    case wire::Verb::kTestAlarm:
      return;
  }
}

void ActIntake::cancel_definition(const PendingPtr& pending, ActiveDefinition& definition) {
  ForRequest request = for_request(pending, pending->name() + " cancelled");
  request.on_request = [this, group = definition.row.group, task_id = definition.row.task_id,
                        answer = std::move(request.on_request)](const RequestOutcome& outcome,
                                                                const Error* refused) {
    if (refused == nullptr && !outcome.answered_before) {
      // All current runs, including those that were claimed after the request.
      const std::set<JobId>& runs = catalog_.outliving(group, task_id);
      stops_.stop_runs({runs.begin(), runs.end()}, "cancelled");
    }
    answer(outcome, refused);
  };
  definitions_.remove(definition.row.id, "the job was cancelled", std::move(request));
}

// Runs that start from now on use it, retries included.
void ActIntake::set_script(const PendingPtr& pending, ActiveDefinition& definition) {
  const std::int64_t version = pending->act.script_version;
  Result<Run> script = changed_script(definition.spec, pending->act, clock_.now());
  if (!script.ok())
    return decline(pending, script.error().code, pending->name() + ": " + script.error().message);
  if (version == 0) {
    return definitions_.set_script(
        definition.row.id, std::move(script).value(),
        for_request(pending, pending->name() + " " + word(pending->act)));
  }
  ForRequest request = for_request(pending, "version " + std::to_string(version) +
                                                " of the script of " + pending->name() + " kept");
  std::vector<Operation> operations{PutScript{.definition = definition.row.id,
                                              .script = version_of(script.value(), version),
                                              .is_old = true}};
  batcher_.post_request(Urgency::kRequest, std::move(request.number), std::move(operations),
                        std::move(request.on_request), {});
}

// The schedule and the runs stay as they are.
void ActIntake::set_tag(const PendingPtr& pending, ActiveDefinition& definition) {
  if (pending->act.remark.empty()) {
    return decline(pending, ErrorCode::kInvalidArgument,
                   "Act.remark is empty, it is the tag of " + pending->name());
  }
  JobSpec spec = definition.spec;
  change_tag(spec, pending->act);
  spec.task_id.clear();  // A generated task id cannot be chosen.
  if (const Status valid = spec.validate(); !valid.ok())
    return decline(pending, valid.error().code, pending->name() + ": " + valid.error().message);
  definitions_.change_spec(
      definition.row.id, [act = pending->act](JobSpec& changed) { change_tag(changed, act); },
      for_request(pending, pending->name() + " " + word(pending->act)));
}

void ActIntake::trigger_definition(const PendingPtr& pending, ActiveDefinition& definition) {
  if (definition.has_had_last_fire(clock_.now())) {
    return decline(pending, ErrorCode::kConflict, pending->name() + " has had its last fire");
  }
  if (definition.row.state == DefinitionState::kQuarantined) {
    return decline(pending, ErrorCode::kConflict, pending->name() + kInQuarantine);
  }
  if (definition.spec.overlap == Overlap::kSkip && catalog_.is_running(definition) &&
      !pending->act.force) {
    return decline(
        pending, ErrorCode::kConflict,
        pending->name() + " is already running (job " +
            std::to_string(catalog_.runs(definition).front().value) +
            ") and its overlap rule is skip (use --force to start another run beside it)");
  }
  std::string spec;
  if (changes_run(pending->act)) {
    auto changed = spec_with(definition.spec, pending->act);
    if (!changed.ok()) return decline(pending, changed.error().code, changed.error().message);
    spec = std::move(changed).value();
  }
  WaitingJob job = definitions_.triggered(definition, std::move(spec), pending->act.force);
  std::vector<Operation> operations;
  operations.emplace_back(AddJob{.job = job});
  ++definition.triggers_under_way;
  ForRequest request = for_request(pending, pending->name() + " triggered", job.id);
  request.on_request = [this, id = definition.row.id, answer = std::move(request.on_request)](
                           const RequestOutcome& outcome, const Error* refused) {
    if (ActiveDefinition* found = catalog_.definition(id)) --found->triggers_under_way;
    answer(outcome, refused);
  };
  batcher_.post_request(
      Urgency::kRequest, std::move(request.number), std::move(operations),
      std::move(request.on_request),
      [this](std::vector<Operation>& done, const std::vector<Outcome>& outcomes,
             const Error* refused) {
        if (refused == nullptr && outcomes.front().kind == OutcomeKind::kDone)
          definitions_.offer_triggered(std::move(std::get<AddJob>(done.front()).job));
      });
}

// ---- one-shot jobs, and single occurrences by job id ----

void ActIntake::act_on_job(const PendingPtr& pending, FindAnswer found) {
  const GroupId group = found.waiting     ? found.waiting->group
                        : found.executing ? found.executing->job.group
                                          : GroupId{};
  const Group* const whole = catalog_.whole_of(group);
  if (whole != nullptr && !pending->asker.may_see(whole->name)) return decline_unknown(pending);
  if (group && !ownership_.has(group))
    return clients_.answer(pending->asker, ownership_.elsewhere(group, 1));
  if (whole != nullptr) pending->change.group = whole->name;
  if (stops(pending->act)) return stop_job(pending, found);
  const bool is_for_runs = pending->act.verb == wire::Verb::kSetPriority;
  if (found.waiting && found.waiting->definition && !is_for_runs)
    return decline_run_that_waits(pending, found);
  if (found.waiting) return act_on_waiting(pending, std::move(*found.waiting));
  if (found.executing) return act_on_executing(pending, *found.executing);
  decline_unknown(pending);
}

void ActIntake::decline_run_that_waits(const PendingPtr& pending, const FindAnswer& found) {
  decline(pending, ErrorCode::kInvalidArgument,
          pending->name() + " is a run of task '" + found.waiting->task_id +
              "' that is waiting (give the task id instead)");
}

void ActIntake::decline_unknown(const PendingPtr& pending) {
  decline(pending, ErrorCode::kNotFound,
          pending->name() + " is not waiting, executing or defined" +
              (pending->act.task_id.empty() ? "" : " in group '" + pending->act.group + "'"));
}

LogEntry ActIntake::called_off(const WaitingJob& job, std::string message) {
  const WallTime now = clock_.now();
  LogEntry log{.id = ids_.next(now),
               .job_id = job.id,
               .group = job.group,
               .task_id = job.task_id,
               .definition = job.definition,
               .state = LogState::kCancelled,
               .trigger_time = job.trigger_time,
               .ended_at = now,
               .message = std::move(message)};
  feedback_.address(log, job);
  return log;
}

void ActIntake::act_on_waiting(const PendingPtr& pending, WaitingJob job) {
  const WallTime now = clock_.now();
  const wire::Verb verb = pending->act.verb;
  ChangeWaiting change{.from = job};
  pending->change.task_id = job.task_id;
  if (verb == wire::Verb::kSuspend || verb == wire::Verb::kResume)
    pending->change.before = audited_state(job.suspended);
  switch (verb) {
    case wire::Verb::kSuspend:
      if (is_quarantined(job))
        return decline(pending, ErrorCode::kConflict, pending->name() + kInQuarantine);
      if (job.suspended)
        return decline(pending, ErrorCode::kConflict, pending->name() + " is already suspended");
      change.to = job;
      change.to->suspended = true;
      change.to->delayed = true;
      break;
    case wire::Verb::kResume:
      if (!job.suspended)
        return decline(pending, ErrorCode::kConflict, pending->name() + " is not suspended");
      change.to = job;
      change.to->suspended = false;
      if (is_quarantined(job)) {
        change.to->lost = 0;
        change.to->not_before = now;  // It has run: no deadline applies.
      } else if (!was_tried(job) && due_time(job) > now) {
        clock_moved_back(*change.to, due_time(job) - now, now);
      }
      change.to->delayed = due_time(*change.to) > definitions_.horizon_end();
      break;
    case wire::Verb::kTrigger:
      if (is_quarantined(job))
        return decline(pending, ErrorCode::kConflict, pending->name() + kInQuarantine);
      change.to = job;
      change.to->delayed = false;
      change.to->suspended = false;
      change.to->priority = kPriorityTriggered;
      if (was_tried(job)) {
        change.to->not_before = now;
      } else {
        change.to->trigger_time = now;
      }
      break;
    case wire::Verb::kSetPriority:
      pending->change.before =
          wire::row_to_json({{"priority", std::int64_t{catalog_.own_priority(job)}}});
      change.to = job;
      change.to->priority = pending->act.priority;
      break;
    case wire::Verb::kTag:
    case wire::Verb::kUntag:
      change.to = job;
      break;
    case wire::Verb::kSetScript:
      return decline(pending, ErrorCode::kConflict,
                     pending->name() + " runs once (submit it again with --replace-on-exist)");
    case wire::Verb::kCancel:
    case wire::Verb::kKill:
    case wire::Verb::kAddExecutors:
    case wire::Verb::kSplitGroup:
    case wire::Verb::kCleanHistory:
    case wire::Verb::kRemoveGroup:
    case wire::Verb::kDrainNode:
    case wire::Verb::kIsolateNode:
    case wire::Verb::kReleaseNode:
    case wire::Verb::kSilence:
    case wire::Verb::kTestAlarm:
      return;
  }
  if (is_moving(job)) return look_again(pending);
  if (changes_spec(pending->act, job)) {
    auto spec = catalog_.whole_spec(job);
    if (!spec.ok()) return decline(pending, ErrorCode::kCorrupt, spec.error().message);
    auto changed = spec_with(std::move(spec).value(), pending->act);
    if (!changed.ok()) return decline(pending, changed.error().code, changed.error().message);
    change.to->spec = std::move(changed).value();
  }
  const bool sets_time = verb != wire::Verb::kSetPriority && !is_about_tag(pending->act);
  const TimeHold hold = definitions_.hold_time(job.id);
  std::vector<Operation> operations;
  operations.emplace_back(std::move(change));
  if (ActiveDefinition* definition = catalog_.definition(job.definition))
    definition->blocked.erase(hand_out_key(job));
  job.delayed ? definitions_.hold_promotion() : sink_.hold(job.group, job.id);
  ForRequest request = for_request(pending, pending->name() + " " + word(pending->act), job.id);
  request.on_request = [this, job, hold, sets_time, answer = std::move(request.on_request)](
                           const RequestOutcome& outcome, const Error* refused) {
    definitions_.release_time(hold, sets_time && has_changed(outcome, refused));
    if (job.delayed) definitions_.release_promotion();
    if (!job.delayed && outcome.answered_before) sink_.release(job.id);
    const bool was_left = refused != nullptr || outcome.answered_before;
    // Reads the row again: the request may have changed it.
    if (was_left && !job.delayed) sink_.reload(job.group);
    answer(outcome, refused);
  };
  batcher_.post_request(
      Urgency::kRequest, std::move(request.number), std::move(operations),
      std::move(request.on_request),
      [this](std::vector<Operation>& done, const std::vector<Outcome>& outcomes, const Error*) {
        auto& changed = std::get<ChangeWaiting>(done.front());
        if (!changed.from.delayed) sink_.release(changed.from.id);
        if (outcomes.front().kind != OutcomeKind::kDone) return;
        sink_.offer(std::move(*changed.to));
      });
}

}  // namespace carillon::jobtracker
