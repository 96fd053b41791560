#include "jobtracker/intake/submit.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "jobtracker/store/names.h"
#include "shared/base/utf8.h"
#include "shared/job/run_words.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

// A message with more jobs is a bulk load, and waits for single jobs.
constexpr std::size_t kBulk = 20;
constexpr const char* kReplaced = "replaced by a newer submission";

// It does not run before it is resumed.
void hold_back(AddDefinition& operation, DefinitionState hold) {
  operation.definition.state = hold;
  operation.definition.generated_through = operation.definition.created_at;
  operation.definition.fired = 0;
  operation.first.reset();
}

}  // namespace

struct SubmitIntake::Pending {
  Asker asker{};
  std::size_t bytes = 0;  // counted until its operations are posted
  wire::RequestNumber request{};
  std::vector<JobSpec> jobs{};
  bool is_suspended = false;
  wire::Submitted reply{};
  std::vector<Operation> operations{};
  std::vector<std::size_t> answer_of{};                          // maps operations to answers
  std::unordered_map<std::size_t, NewDefinition> definitions{};  // by operation
  std::size_t definition_bytes = 0;                              // sum over these
  std::size_t next_group = 0;
  std::size_t next_replaced = 0;
  std::unordered_map<std::size_t, ChangeWaiting> replaced{};  // by answer
  std::vector<ChangeDefinition> removals{};                   // in progress
  std::unordered_set<std::size_t> replacing{};                // answers of jobs that replace others
  std::optional<JobId> claimed{};                             // before it was stored
  std::vector<std::size_t> with_children{};  // answers of definitions with children
  ChildGraph::Foreign foreign_children{};
  // By lower-case group and task id; built on first use.
  std::optional<std::set<std::pair<std::string, std::string>>> defined{};

  bool is_rejected(std::size_t index) const { return !reply.answers[index].reason.empty(); }
  // Anywhere in the parent's message.
  bool defines(const Child& child) {
    if (!defined) note_defined();
    return defined->contains({lower_ascii(child.group), child.task_id});
  }
  void note_defined() {
    defined.emplace();
    const auto note = [this](const JobSpec& spec) {
      defined->emplace(lower_ascii(spec.group), spec.task_id);
    };
    for (const auto& [operation, one] : definitions) note(one.spec);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const ScheduleKind kind = jobs[i].schedule.kind;
      const bool is_definition = kind != ScheduleKind::kNow && kind != ScheduleKind::kAt;
      if (is_definition && !is_rejected(i)) note(jobs[i]);
    }
  }
  bool may_replace(std::size_t index) const {
    return !is_rejected(index) && jobs[index].replace_on_exist &&
           !reply.answers[index].task_id.empty();
  }
  // The state of the job to replace, if it is suspended or quarantined: its replacement then starts
  // suspended.
  DefinitionState hold_of_replaced(std::size_t index, const ActiveDefinition* definition) const {
    if (!may_replace(index)) return DefinitionState::kActive;
    if (definition != nullptr)
      return is_held(definition->row.state) ? definition->row.state : DefinitionState::kActive;
    const auto found = replaced.find(index);
    if (found == replaced.end() || !found->second.from.suspended) return DefinitionState::kActive;
    return is_quarantined(found->second.from) ? DefinitionState::kQuarantined
                                              : DefinitionState::kSuspended;
  }
  // The first state of a job whose predecessor had this state.
  DefinitionState hold_after(DefinitionState before) const {
    return is_suspended && !is_held(before) ? DefinitionState::kSuspended : before;
  }
  const char* remedy_of_taken(std::size_t index, const Outcome& taken) const {
    if (!replacing.contains(index))
      return "(cancel it, or submit with --replace-on-exist, in JSON replace_on_exist)";
    if (replaced.contains(index) || taken.existing_definition)
      return "(its state has just changed; submit it again)";
    return "(an executing job cannot be replaced; cancel it or wait)";
  }
  void spell_group(std::size_t index, const std::string& name) {
    jobs[index].group = name;
    reply.answers[index].group = name;
  }
  void reject(std::size_t index, std::string reason) {
    reply.answers[index].reason = std::move(reason);
    reply.answers[index].warning.clear();
  }
};

SubmitIntake::SubmitIntake(SubmitConfig config, Catalog& catalog, const Workers& workers,
                           const Executors& executors, GroupMaker& groups,
                           const Ownership& ownership, Definitions& definitions, Batcher& batcher,
                           JobSink& sink, FeedbackSink& feedback, const AlarmSink& alarms,
                           ClientLink& clients, RunStopper& stopper, Auditor& auditor,
                           GroupMetrics& metrics, IdSource& ids, SchedulingClock& clock)
    : config_(std::move(config)),
      catalog_(catalog),
      workers_(workers),
      executors_(executors),
      groups_(groups),
      ownership_(ownership),
      definitions_(definitions),
      batcher_(batcher),
      sink_(sink),
      feedback_(feedback),
      alarms_(alarms),
      clients_(clients),
      stopper_(stopper),
      auditor_(auditor),
      metrics_(metrics),
      ids_(ids),
      clock_(clock) {}

void SubmitIntake::submit(const Asker& asker, wire::Submit message, std::size_t bytes) {
  if (const Status valid = message.request.validate(); !valid.ok()) {
    return clients_.answer(asker, wire::ErrorReply{valid.error()});
  }
  if (const Status room = batcher_.check_room(); !room.ok()) {
    return clients_.answer(asker, wire::ErrorReply{room.error()});
  }
  auto pending = std::make_shared<Pending>();
  pending->asker = asker;
  pending->bytes = bytes;
  batcher_.hold(bytes);
  pending->request = message.request;
  pending->jobs = std::move(message.jobs);
  pending->is_suspended = message.suspended;
  pending->reply.fingerprint = message.fingerprint;
  prepare(pending);
}

// All checks that need no new rows.
Status SubmitIntake::check(const JobSpec& spec) const {
  CARILLON_TRY(spec.validate());
  CARILLON_TRY(CompiledSchedule::compile(spec.schedule, clock_.now()));
  return {};
}

void SubmitIntake::prepare(const std::shared_ptr<Pending>& pending) {
  pending->reply.answers.resize(pending->jobs.size());
  std::set<std::pair<std::string, std::string_view>> tasks;
  for (std::size_t i = 0; i < pending->jobs.size(); ++i) {
    JobSpec& spec = pending->jobs[i];
    wire::SubmitAnswer& answer = pending->reply.answers[i];
    answer.task_id = spec.task_id;
    answer.group = spec.group;
    if (spec.schedule.kind == ScheduleKind::kCron && spec.schedule.tz.empty())
      spec.schedule.tz = config_.zone;
    const Status valid = check(spec);
    if (!valid.ok()) pending->reject(i, valid.error().message);
    const bool is_named = pending->jobs.size() > 1 && !spec.task_id.empty();
    if (is_named && !tasks.emplace(lower_ascii(spec.group), spec.task_id).second) {
      answer.status = wire::SubmitStatus::kDuplicate;
      pending->reject(i, "task id '" + spec.task_id +
                             "' occurs earlier in the same message (submit it when that one is "
                             "answered)");
    }
  }
  make_groups(pending);
}

// A group keeps its stored spelling, whatever case a job uses.
void SubmitIntake::make_groups(const std::shared_ptr<Pending>& pending) {
  while (pending->next_group < pending->jobs.size()) {
    const std::size_t index = pending->next_group;
    const std::string& name = pending->jobs[index].group;
    const Group* group = catalog_.group(name);
    if (group != nullptr) pending->spell_group(index, group->name);
    if (pending->is_rejected(index) || group != nullptr) {
      ++pending->next_group;
      continue;
    }
    groups_.with_group(name, [this, pending, index](Result<const Group*> made) {
      if (!made.ok()) pending->reject(index, made.error().message);
      if (made.ok()) pending->spell_group(index, made.value()->name);
      ++pending->next_group;
      make_groups(pending);
    });
    return;
  }
  choose_dispatch(*pending);
  if (!is_redirect(pending)) find_replaced(pending);
}

// Jobs for executor groups are pushed by default. Only executors run some script languages.
void SubmitIntake::choose_dispatch(Pending& pending) {
  for (std::size_t i = 0; i < pending.jobs.size(); ++i) {
    JobSpec& spec = pending.jobs[i];
    if (pending.is_rejected(i) || spec.dispatch != Dispatch::kDefault) continue;
    const bool is_pushed = executors_.has(catalog_.group(spec.group)->id);
    const bool is_script = spec.run.kind == RunKind::kScript;
    if (!is_pushed && !(is_script && script_language(spec.run.script_language).empty())) continue;
    spec.dispatch = is_pushed ? Dispatch::kPush : Dispatch::kPull;
    const Status valid = spec.validate();
    if (valid.ok()) continue;
    pending.reject(
        i, "group '" + spec.group + "' " +
               (is_pushed ? "is a group of xxl-job executors" : "has no xxl-job executors") + ": " +
               valid.error().message);
  }
}

GroupId SubmitIntake::part_of(const std::string& group, const std::string& task_id) const {
  return catalog_.part(catalog_.group(group)->id, task_id);
}

// The partition of the job; a job without a task id goes to an owned partition, if there is one.
GroupId SubmitIntake::place_of(const JobSpec& spec) const {
  if (!spec.task_id.empty()) return part_of(spec.group, spec.task_id);
  const auto parts = catalog_.parts_of(catalog_.group(spec.group)->id);
  const auto ours = std::find_if(parts.begin(), parts.end(),
                                 [this](GroupId part) { return ownership_.has(part); });
  return ours == parts.end() ? parts.front() : *ours;
}

// True: some jobs belong to another job tracker, and the client was redirected.
bool SubmitIntake::is_redirect(const std::shared_ptr<Pending>& pending) {
  if (ownership_.has_all()) return false;
  std::optional<GroupId> other;
  std::optional<GroupId> first;
  bool is_one_group = true;
  bool is_one_part = true;
  for (std::size_t i = 0; i < pending->jobs.size(); ++i) {
    if (pending->is_rejected(i)) continue;
    if (pending->jobs[i].group != pending->jobs.front().group) is_one_group = false;
    const GroupId place = place_of(pending->jobs[i]);
    if (!first) first = place;
    if (place != *first) is_one_part = false;
    if (!ownership_.has(place)) other = place;
  }
  if (!other) return false;
  batcher_.release(pending->bytes);
  const std::int32_t parts = is_one_group ? catalog_.parts(catalog_.whole_of(*other)->id) : 1;
  if (is_one_group && is_one_part) {
    clients_.answer(pending->asker, ownership_.elsewhere(*other, parts));
  } else {
    say_in_parts(pending, {.parts = parts == 1 ? 0 : parts});
  }
  return true;
}

// A first sending may have been accepted as a whole: the store knows. The divided messages have
// their own numbers, so this number is used up.
void SubmitIntake::say_in_parts(const std::shared_ptr<Pending>& pending,
                                const wire::Redirect& said) {
  pending->jobs = {};
  NumberedRequest number{.client = pending->request.client,
                         .sequence = pending->request.sequence,
                         .answer = wire::encode({.correlation = 0, .message = said})};
  batcher_.post_request(Urgency::kRequest, std::move(number), {},
                        [this, pending, said](const RequestOutcome& outcome, const Error* refused) {
                          if (refused != nullptr || outcome.answered_before)
                            return answer(*pending, outcome, refused);
                          clients_.answer(pending->asker, said);
                        },
                        {});
}

// First looks up one-shot jobs to replace.
void SubmitIntake::find_replaced(const std::shared_ptr<Pending>& pending) {
  while (pending->next_replaced < pending->jobs.size()) {
    const std::size_t index = pending->next_replaced++;
    const JobSpec& spec = pending->jobs[index];
    if (!pending->may_replace(index)) continue;
    const Find question{.group = part_of(spec.group, spec.task_id), .task_id = spec.task_id};
    batcher_.ask(question, [this, pending, index](Result<ReadAnswer> answer) {
      if (answer.ok()) {
        auto& found = std::get<FindAnswer>(answer.value());
        if (found.waiting) {
          pending->replaced[index] = {.from = std::move(*found.waiting)};
        }
      }
      find_replaced(pending);
    });
    return;
  }
  read_children(pending);
}

void SubmitIntake::read_children(const std::shared_ptr<Pending>& pending) {
  std::vector<Child> children;
  for (std::size_t i = 0; i < pending->jobs.size(); ++i) {
    const std::vector<Child>& some = pending->jobs[i].children;
    if (!pending->is_rejected(i)) children.insert(children.end(), some.begin(), some.end());
  }
  children_.read_foreign(children, [this, pending](Result<ChildGraph::Foreign> foreign) {
    if (!foreign.ok()) {
      batcher_.release(pending->bytes);
      return clients_.answer(pending->asker, wire::ErrorReply{foreign.error()});
    }
    pending->foreign_children = std::move(foreign.value());
    add(pending);
  });
}

// True: a definition to replace is being changed, and add() is called afterwards.
bool SubmitIntake::waits_for_replaced(const std::shared_ptr<Pending>& pending) {
  for (std::size_t i = 0; i < pending->jobs.size(); ++i) {
    if (!pending->may_replace(i)) continue;
    const JobSpec& spec = pending->jobs[i];
    const ActiveDefinition* definition =
        catalog_.definition(part_of(spec.group, spec.task_id), spec.task_id);
    if (definition == nullptr || !definition->is_changing) continue;
    definitions_.when_free(definition->row.id, [this, pending] { add(pending); });
    return true;
  }
  return false;
}

// In the same transaction as the new jobs: a resend removes nothing, and a job exists until its
// replacement does.
void SubmitIntake::take_out_replaced(Pending& pending) {
  for (std::size_t operation = 0; operation < pending.answer_of.size(); ++operation) {
    const std::size_t index = pending.answer_of[operation];
    if (!pending.may_replace(index)) continue;
    pending.replacing.insert(index);
    const wire::SubmitAnswer& answer = pending.reply.answers[index];
    const GroupId group = part_of(answer.group, answer.task_id);
    if (const ActiveDefinition* definition = catalog_.definition(group, answer.task_id)) {
      const auto next = pending.definitions.find(operation);
      const bool has_schedule = next != pending.definitions.end();
      const WallTime made =
          has_schedule ? next->second.operation.definition.created_at : clock_.now();
      pending.removals.push_back(definitions_.begin_removal(definition->row.id, kReplaced, made));
      if (has_schedule) {
        const JobSpec& spec = next->second.spec;
        const DefinitionId id = next->second.operation.definition.id;
        if (spec.run.kind == RunKind::kScript) pending.removals.back().scripts_to = id;
        if (spec.dispatch == Dispatch::kPush) pending.removals.back().routes_to = id;
      }
      pending.operations.emplace_back(pending.removals.back());
    } else if (const auto found = pending.replaced.find(index); found != pending.replaced.end()) {
      const WallTime now = clock_.now();
      LogEntry log{.id = ids_.next(now),
                   .job_id = found->second.from.id,
                   .group = group,
                   .task_id = answer.task_id,
                   .state = LogState::kCancelled,
                   .trigger_time = found->second.from.trigger_time,
                   .ended_at = now,
                   .message = kReplaced};
      feedback_.address(log, found->second.from);
      found->second.log = std::move(log);
      pending.operations.emplace_back(found->second);
    }
  }
}

void SubmitIntake::keep_scripts(Pending& pending) {
  for (const auto& [operation, made] : pending.definitions) {
    if (made.spec.run.kind != RunKind::kScript) continue;
    pending.operations.emplace_back(PutScript{.definition = made.operation.definition.id,
                                              .script = version_of(made.spec.run, clock_.now())});
  }
}

// Nothing was stored, so nothing was replaced.
void SubmitIntake::end_replaced(Pending& pending) {
  for (const ChangeDefinition& removal : std::exchange(pending.removals, {})) {
    definitions_.end_removal(removal, nullptr);
  }
}

void SubmitIntake::add(const std::shared_ptr<Pending>& pending) {
  if (waits_for_replaced(pending)) return;
  batcher_.release(pending->bytes);
  AuditedChange change = audited_jobs(pending->jobs);
  if (pending->jobs.size() == 1 && pending->may_replace(0)) {
    const JobSpec& spec = pending->jobs.front();
    change.action = "replace";
    if (const auto* before = catalog_.definition(part_of(spec.group, spec.task_id), spec.task_id))
      change.before = audited_spec(before->spec);
  }
  for (std::size_t i = 0; i < pending->jobs.size(); ++i) {
    if (!pending->is_rejected(i)) add_job(*pending, i);
  }
  submitted_ += static_cast<std::int64_t>(pending->operations.size());
  take_out_replaced(*pending);
  keep_scripts(*pending);
  NumberedRequest number{.client = pending->request.client,
                         .sequence = pending->request.sequence,
                         .answer = wire::encode({.correlation = 0, .message = pending->reply})};
  if (pending->reply.answers.size() == 1) change.task_id = pending->reply.answers.front().task_id;
  if (!pending->operations.empty()) {
    number.audit = auditor_.row(pending->asker, std::move(change));
  } else if (!pending->reply.answers.empty()) {
    auditor_.refused(pending->asker, std::move(change),
                     Error{ErrorCode::kInvalidArgument, pending->reply.answers.front().reason});
  }
  pending->jobs = {};  // The jobs are not counted any more.
  // Also without accepted jobs: a rejected job may have been accepted when it was first sent.
  batcher_.post_request(
      pending->reply.answers.size() > kBulk ? Urgency::kBulk : Urgency::kRequest, std::move(number),
      std::move(pending->operations),
      [this, pending](const RequestOutcome& outcome, const Error* refused) {
        answer(*pending, outcome, refused);
      },
      [this, pending](std::vector<Operation>& operations, const std::vector<Outcome>& outcomes,
                      const Error*) { take_in(*pending, operations, outcomes); });
}

void SubmitIntake::add_job(Pending& pending, std::size_t index) {
  JobSpec& spec = pending.jobs[index];
  wire::SubmitAnswer& answer = pending.reply.answers[index];
  const Group& group = *catalog_.group(spec.group);
  const WallTime now = clock_.now();
  const bool keyed = !spec.task_id.empty();
  JobId id = ids_.next_job(now);
  if (!keyed) spec.task_id = made_task_id(id);
  GroupId place = catalog_.part(group.id, spec.task_id);
  while (!keyed &&
         !ownership_.has(place)) {  // Generates another one that belongs to an owned partition.
    id = ids_.next_job(now);
    spec.task_id = made_task_id(id);
    place = catalog_.part(group.id, spec.task_id);
  }
  answer.task_id = spec.task_id;
  answer.tz = spec.schedule.tz;
  const DefinitionState replaced =
      pending.hold_of_replaced(index, catalog_.definition(place, spec.task_id));
  answer.warning = warning_for(spec, place, replaced, pending.foreign_children,
                               [&](const Child& child) { return pending.defines(child); });
  const DefinitionState hold = pending.hold_after(replaced);
  const ScheduleKind kind = spec.schedule.kind;
  const bool is_one_shot = kind == ScheduleKind::kNow || kind == ScheduleKind::kAt;
  if (is_one_shot) {
    AddJob operation{
        .job = WaitingJob{.id = id, .group = place, .task_id = spec.task_id, .keyed = keyed}};
    operation.job.kind = kind;
    operation.job.priority = spec.priority;
    operation.job.trigger_time = kind == ScheduleKind::kNow ? now : spec.schedule.at;
    operation.job.suspended = is_held(hold);
    operation.job.delayed =
        operation.job.suspended || operation.job.trigger_time > definitions_.horizon_end();
    if (hold == DefinitionState::kQuarantined) operation.job.lost = kLostRunsMax;
    operation.job.spec = wire::encode_spec_of_row(spec);
    answer.job_id = id;
    // Earlier operations of the queue come first.
    const bool may_start =
        pending.jobs.size() == 1 && !operation.job.suspended && batcher_.is_idle();
    if (auto claimed = may_start ? sink_.claim_new(operation.job) : std::nullopt) {
      pending.claimed = id;
      pending.operations.emplace_back(AddExecuting{.to = std::move(*claimed)});
    } else {
      pending.operations.emplace_back(std::move(operation));
    }
  } else if (!add_definition(pending, index)) {
    return;
  }
  metrics_.submitted(place, kind);
  answer.status = wire::SubmitStatus::kAccepted;
  pending.answer_of.push_back(index);
}

// A replacement is accepted, because its predecessor is removed.
Status SubmitIntake::check_memory(const Pending& pending, const Definition& added) const {
  const std::size_t bytes =
      catalog_.definition_bytes() + pending.definition_bytes + Catalog::bytes_of(added);
  if (bytes <= config_.definition_bytes_max ||
      catalog_.definition(added.group, added.task_id) != nullptr)
    return {};
  constexpr std::size_t kMebibyte = 1024 * 1024;
  return Error{ErrorCode::kLimit, "jobs with a schedule would need more than the " +
                                      std::to_string(config_.definition_bytes_max / kMebibyte) +
                                      " MiB of memory allowed for them (cancel some, use smaller "
                                      "payloads, or raise the job tracker's "
                                      "--definition-memory)"};
}

// False: it was rejected.
bool SubmitIntake::add_definition(Pending& pending, std::size_t index) {
  JobSpec& spec = pending.jobs[index];
  wire::SubmitAnswer& answer = pending.reply.answers[index];
  if (const Status status = children_.check(spec, pending.foreign_children); !status.ok()) {
    pending.reject(index, status.error().message);
    return false;
  }
  const bool has_children = !spec.children.empty();
  if (has_children) children_.begin(spec);
  const GroupId part = part_of(answer.group, answer.task_id);
  auto planned = definitions_.plan(std::move(spec), part, answer.task_id, true);
  if (!planned.ok()) {
    if (has_children) children_.end(answer.group, answer.task_id);
    pending.reject(index, planned.error().message);
    return false;
  }
  if (const Status room = check_memory(pending, planned.value().operation.definition); !room.ok()) {
    if (has_children) children_.end(answer.group, answer.task_id);
    pending.reject(index, room.error().message);
    return false;
  }
  if (has_children) pending.with_children.push_back(index);
  const DefinitionState hold = pending.hold_after(
      pending.hold_of_replaced(index, catalog_.definition(part, answer.task_id)));
  if (is_held(hold)) hold_back(planned.value().operation, hold);
  AddDefinition operation = planned.value().operation;
  if (operation.first) answer.job_id = operation.first->id;  // A manual job has no first run.
  pending.definition_bytes += Catalog::bytes_of(operation.definition);
  pending.definitions.emplace(pending.operations.size(), std::move(planned.value()));
  pending.operations.emplace_back(std::move(operation));
  return true;
}

void SubmitIntake::take_in(Pending& pending, std::vector<Operation>& operations,
                           const std::vector<Outcome>& outcomes) {
  for (std::size_t i = pending.answer_of.size(); i < operations.size(); ++i) {
    if (const auto* removed = std::get_if<ChangeWaiting>(&operations[i])) {
      if (outcomes[i].kind == OutcomeKind::kDone) {
        sink_.forget(removed->from.group, removed->from.id);
        feedback_.was_stored(*removed->log);
        if (was_tried(removed->from)) stopper_.call_off(removed->from.id, removed->log->message);
      }
    } else if (std::holds_alternative<ChangeDefinition>(operations[i])) {
      std::erase_if(pending.removals, [&](const ChangeDefinition& removal) {
        if (removal.id != std::get<ChangeDefinition>(operations[i]).id) return false;
        definitions_.end_removal(removal, &outcomes[i]);
        return true;
      });
    }
  }
  for (std::size_t i = 0; i < pending.answer_of.size(); ++i) {
    if (outcomes[i].kind != OutcomeKind::kDone) continue;
    if (auto* job = std::get_if<AddJob>(&operations[i])) {
      sink_.offer(std::move(job->job));
    } else if (std::holds_alternative<AddExecuting>(operations[i])) {
      sink_.claimed_new(*std::exchange(pending.claimed, std::nullopt), true);
    } else {
      definitions_.added(std::move(pending.definitions.at(i)));
    }
  }
}

void SubmitIntake::answer(Pending& pending, const RequestOutcome& outcome, const Error* refused) {
  end_replaced(pending);
  if (pending.claimed) sink_.claimed_new(*pending.claimed, false);
  for (const std::size_t index : pending.with_children) {
    const wire::SubmitAnswer& definition = pending.reply.answers[index];
    children_.end(definition.group, definition.task_id);
  }
  if (refused != nullptr) return clients_.answer(pending.asker, wire::ErrorReply{*refused});
  if (outcome.answered_before) {
    auto first = wire::decode(outcome.answer);
    if (first.ok() && std::holds_alternative<wire::Redirect>(first.value().message))
      return clients_.answer(pending.asker, std::move(first.value().message));
    if (outcome.answer.empty() || !first.ok() ||
        !std::holds_alternative<wire::Submitted>(first.value().message)) {
      return clients_.answer(
          pending.asker,
          wire::ErrorReply{Error{ErrorCode::kConflict,
                                 "this request's number was already used for another request"}});
    }
    pending.reply = std::get<wire::Submitted>(std::move(first.value().message));
    pending.answer_of.clear();
    for (std::size_t i = 0; i < pending.reply.answers.size(); ++i) {
      if (pending.reply.answers[i].status == wire::SubmitStatus::kAccepted)
        pending.answer_of.push_back(i);
    }
  }
  for (std::size_t i = 0; i < outcome.outcomes.size() && i < pending.answer_of.size(); ++i) {
    if (outcome.outcomes[i].kind == OutcomeKind::kDone) continue;
    const std::size_t index = pending.answer_of[i];
    wire::SubmitAnswer& answer = pending.reply.answers[index];
    answer.status = wire::SubmitStatus::kDuplicate;
    answer.job_id = outcome.outcomes[i].existing_job;
    answer.warning.clear();
    answer.tz.clear();
    answer.reason = "task id '" + answer.task_id + "' is taken in group '" + answer.group +
                    "' until that job has ended " +
                    pending.remedy_of_taken(index, outcome.outcomes[i]);
  }
  clients_.answer(pending.asker, std::move(pending.reply));
}

}  // namespace carillon::jobtracker
