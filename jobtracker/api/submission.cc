#include "jobtracker/api/submission.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "jobtracker/api/body.h"
#include "shared/job/schedule.h"
#include "shared/wire/spec_json.h"

namespace carillon::jobtracker::api {
namespace {

constexpr const char* kMaskText = "***";

SubmitAnswer rejected_answer(const std::string& task_id, const std::string& group,
                             const Error& why) {
  return {
      .task_id = task_id, .group = group, .status = SubmitStatus::kRejected, .reason = why.message};
}

Submission::One read_one(std::string_view text) {
  auto spec = wire::spec_from_json(text);
  Status valid = spec.ok() ? spec.value().validate() : Status{spec.error()};
  if (valid.ok()) return {.spec = std::move(spec).value()};
  if (spec.ok())
    return {.answer = rejected_answer(spec.value().task_id, spec.value().group, valid.error())};
  const wire::NamedTask named = wire::task_named_in(text);
  return {.answer = rejected_answer(named.task_id, named.group, valid.error())};
}

// With a key: one message with a number of its own, which is not combined with others.
void submit_numbered(Api& api, const ExchangePtr& exchange, const CallKey& key,
                     std::vector<JobSpec> jobs, bool suspended, OnSubmitted then) {
  if (!api.keys.note(key)) return exchange->fail(used_before());
  const std::size_t count = jobs.size();
  wire::Submit submit{.request = key.number,
                      .jobs = std::move(jobs),
                      .suspended = suspended,
                      .fingerprint = key.fingerprint};
  ask(api, exchange, std::move(submit),
      [exchange, count, fingerprint = key.fingerprint,
       then = std::move(then)](Result<wire::Message> answer) {
        if (!answer.ok()) return then(answer.error());
        auto* submitted = std::get_if<wire::Submitted>(&answer.value());
        // Without a fingerprint it answers a request that had no key.
        if (submitted != nullptr && submitted->fingerprint != fingerprint)
          return exchange->fail(used_before());
        if (submitted == nullptr || submitted->answers.size() != count) {
          return then(
              Error{ErrorCode::kCorrupt, "the job tracker's answer does not fit the submission"});
        }
        std::vector<SubmitAnswer> answers;
        for (wire::SubmitAnswer& one : submitted->answers)
          answers.push_back(from_wire(std::move(one)));
        then(std::move(answers));
      });
}

}  // namespace

Result<Submission> read_submission(const std::string& body) {
  Submission submission;
  if (body.find("\"jobs\"") == std::string::npos) {
    submission.is_single = true;
    submission.jobs.push_back(read_one(body));
    return submission;
  }
  const Json object = CARILLON_TRY(parse_json(body));
  const auto jobs = object.is_object() ? object.find("jobs") : object.end();
  if (!object.is_object() || jobs == object.end()) {
    submission.is_single = true;
    submission.jobs.push_back(read_one(body));
    return submission;
  }
  for (const auto& [name, value] : object.items()) {
    if (name != "jobs" && name != "suspended")
      return Error{ErrorCode::kInvalidArgument,
                   "unknown field '" + name + "' (known: jobs, suspended)"};
  }
  if (!jobs->is_array())
    return Error{ErrorCode::kInvalidArgument, "jobs is no list, must be a list of jobs"};
  if (jobs->size() > wire::kSubmitJobsMax) {
    return Error{ErrorCode::kInvalidArgument,
                 "jobs has " + std::to_string(jobs->size()) + " elements, at most " +
                     std::to_string(wire::kSubmitJobsMax) + " are allowed"};
  }
  if (const auto suspended = object.find("suspended"); suspended != object.end()) {
    if (!suspended->is_boolean())
      return Error{ErrorCode::kInvalidArgument, "suspended must be true or false"};
    submission.suspended = suspended->get<bool>();
  }
  for (const Json& job : *jobs) submission.jobs.push_back(read_one(text_of(job)));
  return submission;
}

Result<JobSpec> read_job(std::string_view text, const std::string& zone, WallTime now) {
  JobSpec spec = CARILLON_TRY(wire::spec_from_json(text));
  CARILLON_TRY(spec.validate());
  Schedule schedule = spec.schedule;
  if (schedule.kind == ScheduleKind::kCron && schedule.tz.empty()) schedule.tz = zone;
  CARILLON_TRY(CompiledSchedule::compile(schedule, now));
  return spec;
}

Status check_no_mask(const JobSpec& spec) {
  const auto hidden = [](const std::string& field) {
    return Error{ErrorCode::kInvalidArgument,
                 field + " is hidden as ***, its value must be given again"};
  };
  const std::string in_url = std::string{kMaskText} + "@";
  if (spec.run.http.url.find(in_url) != std::string::npos) return hidden("http.url");
  for (const auto& [name, value] : spec.run.http.headers) {
    if (value == kMaskText) return hidden("http.headers." + name);
  }
  for (const std::string& recipient : spec.alarm) {
    if (recipient.find(in_url) != std::string::npos) return hidden("alarm");
  }
  return {};
}

void submit(Api& api, const ExchangePtr& exchange, Submission submission, OnSubmitted then) {
  const auto key = CARILLON_TRY_CALL(exchange, call_key_of(*exchange, api.secret()));
  std::vector<JobSpec> valid;
  for (Submission::One& one : submission.jobs) {
    if (!one.spec) continue;
    valid.push_back(std::move(*one.spec));
    one.spec.emplace();  // It marks the place.
  }
  const auto merge =
      [jobs = std::make_shared<std::vector<Submission::One>>(std::move(submission.jobs)),
       then = std::move(then)](Result<std::vector<SubmitAnswer>> sent) {
        if (!sent.ok()) return then(sent.error());
        auto next = sent.value().begin();
        std::vector<SubmitAnswer> all;
        for (Submission::One& one : *jobs) {
          const bool is_sent = one.spec && next != sent.value().end();
          all.push_back(is_sent ? std::move(*next++) : std::move(one.answer));
        }
        then(std::move(all));
      };
  if (valid.empty()) return merge(std::vector<SubmitAnswer>{});
  if (key) {
    return submit_numbered(api, exchange, *key, std::move(valid), submission.suspended, merge);
  }
  api.gateway.submit(on_behalf_of(exchange->principal, exchange->call.peer), std::move(valid),
                     submission.suspended, merge);
}

Json json_of_answer(const SubmitAnswer& answer) {
  Json json{{"task_id", answer.task_id}, {"group", answer.group}};
  json["job_id"] = answer.job_id ? Json(std::to_string(answer.job_id.value)) : Json{};
  json["status"] = to_string(answer.status);
  if (!answer.tz.empty()) json["tz"] = answer.tz;
  if (!answer.reason.empty()) json["reason"] = answer.reason;
  if (!answer.warning.empty()) json["warning"] = answer.warning;
  return json;
}

void send_answer(const ExchangePtr& exchange, const Result<std::vector<SubmitAnswer>>& answers) {
  if (!answers.ok()) return exchange->fail(answers.error());
  if (answers.value().empty())
    return exchange->fail(Error{ErrorCode::kCorrupt, "the job tracker gave no answer"});
  const SubmitAnswer& answer = answers.value().front();
  if (answer.status == SubmitStatus::kRejected)
    return exchange->fail(Error{ErrorCode::kInvalidArgument, answer.reason});
  if (answer.error) return exchange->fail(Error{*answer.error, answer.reason});
  exchange->send({{"results", Json::array({json_of_answer(answer)})}});
}

}  // namespace carillon::jobtracker::api
