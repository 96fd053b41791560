#include "jobtracker/management.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "jobtracker/push/managed_spec.h"
#include "jobtracker/state/xxl_number.h"

namespace carillon::jobtracker {
namespace {

// Most unanswered requests of one client.
constexpr std::size_t kAskedMax = wire::kRequestWindow;

Error refusal_in(const wire::Message& answer) {
  if (const auto* error = std::get_if<wire::ErrorReply>(&answer)) return error->error;
  if (const auto* other = std::get_if<wire::Redirect>(&answer))
    return {ErrorCode::kUnavailable, "the job tracker at " + other->address + " owns it"};
  return {ErrorCode::kUnavailable, "the answer is invalid"};
}

std::optional<DefinitionState> state_after(ManageJob::Verb verb) {
  if (verb == ManageJob::Verb::kStart) return DefinitionState::kActive;
  if (verb == ManageJob::Verb::kStop) return DefinitionState::kSuspended;
  return std::nullopt;
}

}  // namespace

Management::Management(Catalog& catalog, const Ownership& ownership, std::int64_t client,
                       std::function<void(const Asker&, wire::Message)> route)
    : catalog_(catalog), ownership_(ownership), client_(client), route_(std::move(route)) {}

void Management::take(const ManageJob& call, OnManaged done) {
  using Verb = ManageJob::Verb;
  if (asked_.size() >= kAskedMax)
    return done(Error{ErrorCode::kLimit, "Too many requests, please try again later."});
  if (call.verb == Verb::kAdd) return add(call, std::move(done));
  const auto found = find(call);
  if (!found.ok()) {
    // As in xxl-job, a job that does not exist counts as removed.
    if (call.verb == Verb::kRemove && knows_all_jobs_of(call.app_name)) return done(std::string{});
    return done(found.error());
  }
  const ActiveDefinition& definition = *found.value();
  if (call.verb == Verb::kUpdate) return update(call, definition, std::move(done));
  wire::Act message{
      .request = next_number(), .group = call.app_name, .task_id = definition.row.task_id};
  switch (call.verb) {
    case Verb::kRemove:
      message.verb = wire::Verb::kCancel;
      break;
    case Verb::kStart:
      message.verb = wire::Verb::kResume;
      break;
    case Verb::kStop:
      message.verb = wire::Verb::kSuspend;
      break;
    default:
      message.verb = wire::Verb::kTrigger;
      message.payload = call.job.param.value_or("");  // Not the job's own, as in xxl-job.
      message.addresses = parts_of(call.job.addresses);
  }
  const auto wanted = state_after(call.verb);
  if (!wanted) return act(call, std::move(message), std::move(done));
  // As in xxl-job, starting a started job and stopping a stopped job are no errors.
  act(call, std::move(message),
      [this, call, wanted, done = std::move(done)](const Result<std::string>& answer) {
        const auto now = find(call);
        const bool is_so = now.ok() && now.value()->row.state == *wanted;
        done(is_so ? Result<std::string>{std::string{}} : answer);
      });
}

// A new job is stopped, as in xxl-job.
void Management::add(const ManageJob& call, OnManaged done) {
  Result<JobSpec> spec = managed_spec(call.job, call.app_name);
  if (!spec.ok()) return done(spec.error());
  const Result<std::int32_t> free = free_number();
  if (!free.ok()) return done(free.error());
  const std::string number = std::to_string(free.value());
  spec.value().task_id = std::string{kXxlPrefix} + number;
  submit(call, std::move(spec).value(), true, number, std::move(done));
}

// A number that no job of this session or the store has.
Result<std::int32_t> Management::free_number() {
  last_number_ = std::max(last_number_, catalog_.xxl_number_high());
  if (last_number_ == std::numeric_limits<std::int32_t>::max())
    return Error{ErrorCode::kLimit, "task " + std::string{kXxlPrefix} +
                                        std::to_string(last_number_) +
                                        " has the highest number that executors support (submit "
                                        "the job with jobclient and its own task id)"};
  return ++last_number_;
}

void Management::update(const ManageJob& call, const ActiveDefinition& definition, OnManaged done) {
  Result<JobSpec> spec = managed_spec(call.job, call.app_name, &definition.spec);
  if (!spec.ok()) return done(spec.error());
  spec.value().task_id = definition.row.task_id;
  spec.value().replace_on_exist = true;
  // Its time zone stays; an unchanged schedule stays completely, so its grid continues.
  Schedule& schedule = spec.value().schedule;
  const Schedule& before = definition.spec.schedule;
  const bool is_alike = schedule.kind == before.kind;
  if (is_alike && schedule.cron == before.cron && schedule.interval == before.interval) {
    schedule = before;
    if (schedule.kind == ScheduleKind::kEvery)
      schedule.first = CompiledSchedule{definition.schedule}.next_fire(WallTime{});
  } else if (is_alike && schedule.kind == ScheduleKind::kCron) {
    schedule.tz = before.tz;
    schedule.dst = before.dst;
  }
  // A stopped job stays stopped.
  submit(call, std::move(spec).value(), false, "", std::move(done));
}

Result<const ActiveDefinition*> Management::find(const ManageJob& call) {
  const std::string number = std::to_string(call.job.id);
  const Group* group = catalog_.group(call.app_name);
  const ActiveDefinition* definition =
      group == nullptr ? nullptr : catalog_.definition(group->id, std::string{kXxlPrefix} + number);
  // Jobs of task trackers are not an executor's to manage.
  if (definition == nullptr || definition->spec.dispatch != Dispatch::kPush)
    return Error{ErrorCode::kNotFound,
                 "job " + number + " of " + call.app_name + " does not exist"};
  return definition;
}

// Other job trackers may own jobs of other partitions.
bool Management::knows_all_jobs_of(const std::string& app_name) const {
  const Group* group = catalog_.group(app_name);
  return group == nullptr ? ownership_.has_all() : ownership_.has_all(catalog_.parts_of(group->id));
}

void Management::submit(const ManageJob& call, JobSpec spec, bool suspended, std::string text,
                        OnManaged done) {
  wire::Submit message{.request = next_number(), .suspended = suspended};
  message.jobs.push_back(std::move(spec));
  ask(call, std::move(message),
      [text = std::move(text), done = std::move(done)](const wire::Message& answer) {
        const auto* submitted = std::get_if<wire::Submitted>(&answer);
        if (submitted == nullptr || submitted->answers.empty()) return done(refusal_in(answer));
        const wire::SubmitAnswer& one = submitted->answers.front();
        if (one.status == wire::SubmitStatus::kAccepted) return done(text);
        done(Error{ErrorCode::kInvalidArgument, one.reason});
      });
}

void Management::act(const ManageJob& call, wire::Act message, OnManaged done) {
  ask(call, std::move(message), [done = std::move(done)](const wire::Message& answer) {
    if (std::holds_alternative<wire::Acted>(answer)) return done(std::string{});
    done(refusal_in(answer));
  });
}

// The app is the principal, whatever token its executor has.
void Management::ask(const ManageJob& call, wire::Message message, OnAnswer on_answer) {
  Caller caller{.principal = {.kind = kAppKind,
                              .name = call.app_name,
                              .role = Role::kEditor,
                              .groups = {call.app_name}},
                .address = call.peer};
  const std::uint64_t number = ++last_;
  asked_.emplace(number, std::move(on_answer));
  route_({.correlation = number,
          .origin = Asker::Origin::kManagement,
          .caller = std::make_shared<const Caller>(std::move(caller))},
         std::move(message));
}

void Management::hear(const Asker& asker, wire::Message answer) {
  const auto found = asked_.find(asker.correlation);
  if (found == asked_.end()) return;
  const OnAnswer on_answer = std::move(found->second);
  asked_.erase(found);
  on_answer(std::move(answer));
}

}  // namespace carillon::jobtracker
