#include "jobtracker/intake/submit.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <utility>

#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

constexpr std::string_view kMadePrefix = "job-";
// A message with more jobs than this is a bulk load, and waits for single ones.
constexpr std::size_t kBulk = 20;

}  // namespace

std::string made_task_id(JobId id) { return std::string(kMadePrefix) + std::to_string(id.value); }

bool is_made_task_id(const std::string& task_id) {
  if (task_id.size() < kMadePrefix.size() + 15 || task_id.compare(0, kMadePrefix.size(), kMadePrefix) != 0) return false;
  return std::all_of(task_id.begin() + static_cast<std::ptrdiff_t>(kMadePrefix.size()), task_id.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

struct SubmitIntake::Pending {
  Asker asker{};
  wire::RequestNumber request{};
  std::vector<JobSpec> jobs{};
  wire::Submitted reply{};
  std::vector<Operation> operations{};
  std::vector<std::size_t> answer_of{};  // operation -> answer
  std::unordered_map<std::size_t, NewDefinition> definitions{};  // by operation
  std::size_t next_group = 0;
  std::size_t next_replaced = 0;

  bool is_rejected(std::size_t index) const { return !reply.answers[index].reason.empty(); }
  void reject(std::size_t index, std::string reason) { reply.answers[index].reason = std::move(reason); }
};

SubmitIntake::SubmitIntake(std::string zone, Catalog& catalog, GroupMaker& groups, Definitions& definitions,
                           Batcher& batcher, JobSink& sink, ClientLink& clients, IdSource& ids, SchedulingClock& clock)
    : zone_(std::move(zone)), catalog_(catalog), groups_(groups), definitions_(definitions), batcher_(batcher),
      sink_(sink), clients_(clients), ids_(ids), clock_(clock) {}

void SubmitIntake::submit(const Asker& asker, wire::Submit message) {
  if (batcher_.is_full()) {
    clients_.answer(asker, wire::ErrorReply{Error{ErrorCode::kLimit, "the job tracker has more submissions than it can store now, slow down"}});
    return;
  }
  auto pending = std::make_shared<Pending>();
  pending->asker = asker;
  pending->request = message.request;
  pending->jobs = std::move(message.jobs);
  prepare(pending);
}

void SubmitIntake::prepare(const std::shared_ptr<Pending>& pending) {
  pending->reply.answers.resize(pending->jobs.size());
  for (std::size_t i = 0; i < pending->jobs.size(); ++i) {
    JobSpec& spec = pending->jobs[i];
    wire::SubmitAnswer& answer = pending->reply.answers[i];
    answer.task_id = spec.task_id;
    answer.group = spec.group;
    if (spec.schedule.kind == ScheduleKind::kCron && spec.schedule.tz.empty()) spec.schedule.tz = zone_;
    const Status valid = spec.validate();
    if (!valid.ok()) {
      pending->reject(i, valid.error().message);
    } else if (is_made_task_id(spec.task_id)) {
      pending->reject(i, "task_id '" + spec.task_id + "': 'job-' and a long number is kept for jobs without a chosen task id, choose another");
    } else if (spec.overlap == Overlap::kQueueOne || spec.overlap == Overlap::kCancelRunning) {
      pending->reject(i, "overlap '" + std::string(spec.overlap == Overlap::kQueueOne ? "queue_one" : "cancel_running") +
                             "' is not supported yet, use skip, queue or parallel");
    }
  }
  make_groups(pending);
}

void SubmitIntake::make_groups(const std::shared_ptr<Pending>& pending) {
  while (pending->next_group < pending->jobs.size()) {
    const std::size_t index = pending->next_group;
    const std::string& name = pending->jobs[index].group;
    if (pending->is_rejected(index) || catalog_.group(name) != nullptr) {
      ++pending->next_group;
      continue;
    }
    groups_.with_group(name, [this, pending, index](Result<const Group*> group) {
      if (!group.ok()) pending->reject(index, group.error().message);
      ++pending->next_group;
      make_groups(pending);
    });
    return;
  }
  find_replaced(pending);
}

// Jobs that may replace another of their task id take it away first.
void SubmitIntake::find_replaced(const std::shared_ptr<Pending>& pending) {
  while (pending->next_replaced < pending->jobs.size()) {
    const std::size_t index = pending->next_replaced++;
    const JobSpec& spec = pending->jobs[index];
    if (pending->is_rejected(index) || !spec.replace_on_exist || spec.task_id.empty()) continue;
    replace(pending, spec, *catalog_.group(spec.group));
    return;
  }
  add(pending);
}

void SubmitIntake::replace(const std::shared_ptr<Pending>& pending, const JobSpec& spec, const Group& group) {
  const auto go_on = [this, pending](const Outcome&) { find_replaced(pending); };
  if (const ActiveDefinition* definition = catalog_.definition(group.id, spec.task_id)) {
    // A number of its own: this is no request of the client's.
    ForRequest request{.number = {.client = 0, .sequence = ids_.next(clock_.now())},
                       .on_request = [go_on](const RequestOutcome&, const Error*) { go_on({}); }};
    (void)definitions_.remove(definition->row.id, {}, std::move(request));  // Answers by on_request.
    return;
  }
  batcher_.ask(Find{.group = group.id, .task_id = spec.task_id}, [this, go_on](Result<ReadAnswer> answer) {
    if (!answer.ok()) return go_on({});
    auto& found = std::get<FindAnswer>(answer.value());
    if (!found.waiting) return go_on({});
    sink_.forget(found.waiting->group, found.waiting->id);
    batcher_.post(Urgency::kRequest, ChangeWaiting{.from = *found.waiting, .from_delayed = found.delayed},
                  [this, go_on](Operation& operation, const Outcome& outcome, const Error*) {
                    const auto& removed = std::get<ChangeWaiting>(operation);
                    sink_.forget(removed.from.group, removed.from.id);
                    go_on(outcome);
                  });
  });
}

void SubmitIntake::add(const std::shared_ptr<Pending>& pending) {
  for (std::size_t i = 0; i < pending->jobs.size(); ++i) {
    if (!pending->is_rejected(i)) add_job(*pending, i);
  }
  if (pending->operations.empty()) return clients_.answer(pending->asker, std::move(pending->reply));
  submitted_ += static_cast<std::int64_t>(pending->operations.size());
  NumberedRequest number{.client = pending->request.client, .sequence = pending->request.sequence,
                         .answer = wire::encode({.correlation = 0, .message = pending->reply})};
  batcher_.post_request(
      pending->jobs.size() > kBulk ? Urgency::kBulk : Urgency::kRequest, std::move(number), std::move(pending->operations),
      [this, pending](const RequestOutcome& outcome, const Error* refused) { answer(*pending, outcome, refused); },
      [this, pending](std::vector<Operation>& operations, const std::vector<Outcome>& outcomes, const Error*) {
        take_in(*pending, operations, outcomes);
      });
}

void SubmitIntake::add_job(Pending& pending, std::size_t index) {
  JobSpec& spec = pending.jobs[index];
  wire::SubmitAnswer& answer = pending.reply.answers[index];
  const Group& group = *catalog_.group(spec.group);
  const WallTime now = clock_.now();
  const bool keyed = !spec.task_id.empty();
  const JobId id = ids_.next_job(now);
  if (!keyed) spec.task_id = made_task_id(id);
  answer.task_id = spec.task_id;
  answer.tz = spec.schedule.tz;
  if (!group.served) answer.warning = "no task tracker of group '" + group.name + "' was ever seen";
  const bool is_one_shot = spec.schedule.kind == ScheduleKind::kNow || spec.schedule.kind == ScheduleKind::kAt;
  if (is_one_shot) {
    AddJob operation{.job = WaitingJob{.id = id, .group = group.id, .task_id = spec.task_id, .keyed = keyed}};
    operation.job.kind = spec.schedule.kind;
    operation.job.priority = spec.priority;
    operation.job.trigger_time = spec.schedule.kind == ScheduleKind::kNow ? now : spec.schedule.at;
    operation.delayed = operation.job.trigger_time > definitions_.horizon_end();
    operation.job.spec = wire::encode_spec(spec);
    answer.job_id = id;
    pending.operations.emplace_back(std::move(operation));
  } else {
    const std::string task_id = spec.task_id;
    auto planned = definitions_.plan(std::move(spec), group.id, task_id, true);
    if (!planned.ok()) return pending.reject(index, planned.error().message);
    AddDefinition operation = planned.value().operation;
    answer.job_id = operation.first ? operation.first->id : JobId{operation.definition.id.value};
    pending.definitions.emplace(pending.operations.size(), std::move(planned.value()));
    pending.operations.emplace_back(std::move(operation));
  }
  answer.status = wire::SubmitStatus::kAccepted;
  pending.answer_of.push_back(index);
}

void SubmitIntake::take_in(Pending& pending, std::vector<Operation>& operations, const std::vector<Outcome>& outcomes) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (outcomes[i].kind != OutcomeKind::kDone) continue;
    if (auto* job = std::get_if<AddJob>(&operations[i])) {
      if (!job->delayed) sink_.offer(std::move(job->job));
    } else {
      definitions_.added(std::move(pending.definitions.at(i)));
    }
  }
}

void SubmitIntake::answer(Pending& pending, const RequestOutcome& outcome, const Error* refused) {
  if (refused != nullptr) return clients_.answer(pending.asker, wire::ErrorReply{*refused});
  if (outcome.answered_before) {
    auto first = wire::decode(outcome.answer);
    if (outcome.answer.empty() || !first.ok() || !std::holds_alternative<wire::Submitted>(first.value().message)) {
      return clients_.answer(pending.asker, wire::ErrorReply{Error{ErrorCode::kConflict, "this request's number was used before, for something else"}});
    }
    pending.reply = std::get<wire::Submitted>(std::move(first.value().message));
    pending.answer_of.clear();
    for (std::size_t i = 0; i < pending.reply.answers.size(); ++i) {
      if (pending.reply.answers[i].status == wire::SubmitStatus::kAccepted) pending.answer_of.push_back(i);
    }
  }
  for (std::size_t i = 0; i < outcome.outcomes.size() && i < pending.answer_of.size(); ++i) {
    if (outcome.outcomes[i].kind == OutcomeKind::kDone) continue;
    wire::SubmitAnswer& answer = pending.reply.answers[pending.answer_of[i]];
    answer.status = wire::SubmitStatus::kDuplicate;
    answer.job_id = outcome.outcomes[i].existing_job;
    answer.warning.clear();
    answer.tz.clear();
    answer.reason = "task id '" + answer.task_id + "' is taken in group '" + answer.group +
                    "' until that job has ended (cancel it, or submit with replace_on_exist)";
  }
  clients_.answer(pending.asker, std::move(pending.reply));
}

}  // namespace carillon::jobtracker
