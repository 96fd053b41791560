// Submits, replaces and controls jobs.
#include <array>
#include <memory>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/body.h"
#include "jobtracker/api/submission.h"
#include "jobtracker/api/task_view.h"
#include "shared/job/schedule.h"

namespace carillon::jobtracker::api {
namespace {

// Validates without storing.
void send_dry_run(Api& api, const ExchangePtr& exchange, const Submission& submission) {
  Json results = Json::array();
  for (const Submission::One& one : submission.jobs) {
    if (!one.spec) {
      if (submission.is_single)
        return exchange->fail(Error{ErrorCode::kInvalidArgument, one.answer.reason});
      results.push_back(json_of_answer(one.answer));
      continue;
    }
    Json result{{"task_id", one.spec->task_id}, {"group", one.spec->group}, {"job_id", nullptr}};
    Schedule schedule = one.spec->schedule;
    if (schedule.kind == ScheduleKind::kCron && schedule.tz.empty()) schedule.tz = api.facts.zone;
    const auto compiled = CompiledSchedule::compile(schedule, api.gateway.clock().wall_now());
    if (!compiled.ok() && submission.is_single) return exchange->fail(compiled.error());
    result["status"] = compiled.ok() ? "valid" : "rejected";
    if (!schedule.tz.empty()) result["tz"] = schedule.tz;
    if (!compiled.ok()) result["reason"] = compiled.error().message;
    results.push_back(std::move(result));
  }
  exchange->send({{"results", std::move(results)}});
}

// The trace context of the call, for jobs that have none. One that is malformed is ignored, as W3C
// asks for.
void take_traceparent(Submission& submission, const std::string& traceparent) {
  if (!check_traceparent(traceparent).ok()) return;
  for (Submission::One& one : submission.jobs) {
    if (one.spec && one.spec->traceparent.empty()) one.spec->traceparent = traceparent;
  }
}

void post_jobs(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({"dry_run"}));
  const bool is_dry_run = CARILLON_TRY_CALL(exchange, exchange->parameters.flag("dry_run"));
  Submission submission = CARILLON_TRY_CALL(exchange, read_submission(exchange->call.body));
  take_traceparent(submission, exchange->header("traceparent"));
  if (is_dry_run) return send_dry_run(api, exchange, submission);
  const bool is_single = submission.is_single;
  submit(api, exchange, std::move(submission),
         [exchange, is_single](const Result<std::vector<SubmitAnswer>>& answers) {
           if (is_single || !answers.ok()) return send_answer(exchange, answers);
           Json results = Json::array();
           for (const SubmitAnswer& answer : answers.value())
             results.push_back(json_of_answer(answer));
           exchange->send({{"results", std::move(results)}});
         });
}

Problem precondition_failed() {
  return {.status = 412,
          .code = "precondition_failed",
          .detail = "the job has been changed since it was read (read it again)",
          .field = "if_match"};
}

// An interval goes on from its next fire, although a replacement begins anew, unless the schedule
// was changed, too.
void keep_next_fire(JobSpec& spec, const wire::Row& shown) {
  const auto before = spec_in(shown);
  const auto next = parse_time(text_in(shown, "next_fire"));
  if (!before.ok() || !next.ok()) return;
  Schedule& schedule = spec.schedule;
  const Schedule& was = before.value().schedule;
  const bool is_interval =
      schedule.kind == ScheduleKind::kEvery || schedule.kind == ScheduleKind::kFixedDelay;
  const bool is_same =
      schedule.kind == was.kind && schedule.interval == was.interval && schedule.first == was.first;
  if (is_interval && is_same) schedule.first = next.value();
}

// Replaces the task if nobody has changed it since it was read.
void put_job(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  const std::string etag = exchange->header("if-match");
  if (etag.empty()) {
    return exchange->fail(
        Problem{.status = 428,
                .code = "precondition_required",
                .detail = "the header If-Match is missing (send the ETag of the job)",
                .field = "if_match"});
  }
  JobSpec spec = CARILLON_TRY_CALL(
      exchange, read_job(exchange->call.body, api.facts.zone, api.gateway.clock().wall_now()));
  CARILLON_TRY_CALL(exchange, check_no_mask(spec));
  const std::string& group = exchange->parts[0];
  const std::string& task_id = exchange->parts[1];
  if (spec.task_id.empty()) spec.task_id = task_id;
  if (spec.task_id != task_id || spec.group != group) {
    return exchange->fail(Error{ErrorCode::kInvalidArgument,
                                "task_id is '" + spec.task_id + "' of group '" + spec.group +
                                    "', must be the one of the path (a task cannot be renamed)"});
  }
  spec.replace_on_exist = true;
  const wire::Query shown{.what = "show", .group = group, .task_id = task_id};
  ask_rows(api, exchange, shown,
           [&api, exchange, etag, spec = std::move(spec)](const wire::Rows& rows) mutable {
             if (rows.rows.empty())
               return exchange->fail(Error{ErrorCode::kNotFound, "there is no such task"});
             if (etag != "*" && etag != etag_of(rows.rows.front()))
               return exchange->fail(precondition_failed());
             keep_next_fire(spec, rows.rows.front());
             Submission one{.is_single = true};
             one.jobs.push_back({.spec = std::move(spec)});
             submit(api, exchange, std::move(one),
                    [exchange](const Result<std::vector<SubmitAnswer>>& answers) {
                      send_answer(exchange, answers);
                    });
           });
}

void act_on_job(Api& api, const ExchangePtr& exchange, wire::Verb verb) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  wire::Act act{.verb = verb, .group = exchange->parts[0], .task_id = exchange->parts[1]};
  if (verb == wire::Verb::kTrigger) {
    act.payload = CARILLON_TRY_CALL(exchange, body.optional_text("payload"));
    act.force = CARILLON_TRY_CALL(exchange, body.flag("force"));
    act.addresses = CARILLON_TRY_CALL(exchange, body.texts("addresses", kAddressesMax));
    const std::string address = CARILLON_TRY_CALL(exchange, body.text("address"));
    if (!address.empty()) act.addresses.push_back(address);
  }
  CARILLON_TRY_CALL(exchange, body.finish());
  change(api, exchange, std::move(act));
}

void trigger_job(Api& api, const ExchangePtr& exchange) {
  act_on_job(api, exchange, wire::Verb::kTrigger);
}
void suspend_job(Api& api, const ExchangePtr& exchange) {
  act_on_job(api, exchange, wire::Verb::kSuspend);
}
void resume_job(Api& api, const ExchangePtr& exchange) {
  act_on_job(api, exchange, wire::Verb::kResume);
}
void cancel_job(Api& api, const ExchangePtr& exchange) {
  act_on_job(api, exchange, wire::Verb::kCancel);
}
void kill_job(Api& api, const ExchangePtr& exchange) {
  act_on_job(api, exchange, wire::Verb::kKill);
}

constexpr std::array kJobChangeRoutes{
    Route{"POST", "/jobs", post_jobs, Right::kEdit},
    Route{"PUT", "/jobs/{}/{}", put_job, Right::kEdit},
    Route{"DELETE", "/jobs/{}/{}", cancel_job, Right::kEdit},
    Route{"POST", "/jobs/{}/{}:trigger", trigger_job, Right::kOperate},
    Route{"POST", "/jobs/{}/{}:suspend", suspend_job, Right::kOperate},
    Route{"POST", "/jobs/{}/{}:resume", resume_job, Right::kOperate},
    Route{"POST", "/jobs/{}/{}:cancel", cancel_job, Right::kEdit},
    Route{"POST", "/jobs/{}/{}:kill", kill_job, Right::kOperate},
};

}  // namespace

std::span<const Route> job_change_routes() { return kJobChangeRoutes; }

}  // namespace carillon::jobtracker::api
