#include <algorithm>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "shared/base/time_text.h"
#include "shared/base/utf8.h"
#include "shared/wire/base64.h"
#include "shared/wire/spec_json.h"
#include "shared/wire/spec_words.h"

namespace carillon::wire {
namespace {

using Json = nlohmann::ordered_json;

// Invalid UTF-8 must not end a list early.
std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void put_schedule(Json& object, const Schedule& schedule) {
  switch (schedule.kind) {
    case ScheduleKind::kNow:
      object["now"] = true;
      return;
    case ScheduleKind::kAt:
      object["at"] = format_time(schedule.at);
      return;
    case ScheduleKind::kManual:
      object["manual"] = true;
      return;
    case ScheduleKind::kCron:
      object["cron"] = schedule.cron;
      if (!schedule.tz.empty()) object["tz"] = schedule.tz;
      if (schedule.dst != DstRule::kAuto) object["dst"] = word_of(schedule.dst, kDstWords);
      return;
    case ScheduleKind::kEvery:
    case ScheduleKind::kFixedDelay:
      object[schedule.kind == ScheduleKind::kEvery ? "every" : "fixed_delay"] =
          format_duration(schedule.interval);
      if (schedule.count) object["count"] = *schedule.count;
      if (schedule.first) object["first"] = format_time(*schedule.first);
      return;
  }
}

Json http_object(const HttpRequest& http) {
  Json object{{"method", http.method}, {"url", http.url}};
  if (!http.headers.empty()) object["headers"] = http.headers;
  if (!http.body.empty()) object["body"] = http.body;
  return object;
}

void put_run(Json& object, const Run& run) {
  switch (run.kind) {
    case RunKind::kHandler:
      object["handler"] = run.handler;
      return;
    case RunKind::kCommand:
      object["command"] = run.command;
      return;
    case RunKind::kShell:
      object["shell"] = run.shell;
      return;
    case RunKind::kScript:
      object["script"] = Json{{"language", run.script_language}, {"source", run.script_source}};
      if (!run.script_remark.empty()) object["script"]["remark"] = run.script_remark;
      return;
    case RunKind::kHttp:
      object["http"] = http_object(run.http);
      return;
  }
}

void put_retries(Json& object, const RetryPolicy& retries) {
  const RetryPolicy standard;
  if (retries == standard) return;
  Json details{{"max", retries.max}};
  if (retries.policy != standard.policy) details["policy"] = word_of(retries.policy, kBackoffWords);
  if (retries.base != standard.base) details["base"] = format_duration(retries.base);
  const bool is_capped = retries.policy == RetryBackoff::kExponential;
  if (is_capped && retries.cap != standard.cap) details["cap"] = format_duration(retries.cap);
  if (retries.jitter != standard.jitter) details["jitter"] = retries.jitter;
  object["retries"] = details.size() == 1 ? Json(retries.max) : std::move(details);
}

void put_misfire(Json& object, const Misfire& misfire) {
  const Misfire standard;
  if (misfire == standard) return;
  const auto policy = word_of(misfire.policy, kMisfireWords);
  Json details{{"policy", policy}};
  const bool is_bounded = misfire.policy == MisfirePolicy::kFireAll;
  if (is_bounded && misfire.max != standard.max) details["max"] = misfire.max;
  if (is_bounded && misfire.window != standard.window)
    details["window"] = format_duration(misfire.window);
  if (misfire.threshold != standard.threshold) {
    details["threshold"] = format_duration(misfire.threshold);
  }
  object["misfire"] = details.size() == 1 ? Json(policy) : std::move(details);
}

// Overlap is written if it differs from what spec_from_json() derives.
void put_push(Json& object, const JobSpec& spec) {
  if (spec.dispatch != Dispatch::kDefault) {
    object["dispatch"] = word_of(spec.dispatch, kDispatchWords);
  }
  const Push& push = spec.push;
  if (push.route != Route::kFirst) object["route"] = word_of(push.route, kRouteWords);
  if (push.block != Block::kSerialExecution) object["block"] = word_of(push.block, kBlockWords);
  if (!push.addresses.empty()) object["addresses"] = push.addresses;
  const bool has_block = push.block != Block::kSerialExecution;
  if (spec.overlap != (has_block ? overlap_of(push.block) : Overlap::kSkip)) {
    object["overlap"] = word_of(spec.overlap, kOverlapWords);
  }
}

void put_payload(Json& object, const std::string& payload) {
  if (payload.empty()) return;
  // Each control character would need six bytes: 1 MiB of them would exceed the limit of a line.
  const bool is_text = std::none_of(payload.begin(), payload.end(), [](char one) {
    return static_cast<unsigned char>(one) < ' ' && one != '\n' && one != '\r' && one != '\t';
  });
  if (is_text && is_utf8(payload)) {
    object["payload"] = payload;
  } else {
    object["payload_base64"] = to_base64(payload);
  }
}

}  // namespace

std::string spec_to_json(const JobSpec& spec) {
  Json object;
  if (!spec.task_id.empty()) object["task_id"] = spec.task_id;
  object["group"] = spec.group;
  if (!spec.description.empty()) object["description"] = spec.description;
  if (!spec.owner.empty()) object["owner"] = spec.owner;
  if (!spec.tags.empty()) object["tags"] = spec.tags;
  put_schedule(object, spec.schedule);
  if (spec.priority != kPriorityDefault) object["priority"] = spec.priority;
  if (!spec.params.empty()) object["params"] = spec.params;
  put_payload(object, spec.payload);
  put_run(object, spec.run);
  put_retries(object, spec.retries);
  if (spec.timeout != Duration{}) object["timeout"] = format_duration(spec.timeout);
  if (spec.start_deadline != Duration{}) {
    object["start_deadline"] = format_duration(spec.start_deadline);
  }
  put_push(object, spec);
  put_misfire(object, spec.misfire);
  for (const Child& child : spec.children) {
    object["children"].push_back(Json{{"group", child.group}, {"task_id", child.task_id}});
  }
  if (spec.need_feedback) object["need_feedback"] = true;
  if (!spec.client_group.empty()) object["client_group"] = spec.client_group;
  if (!spec.alarm.empty()) object["alarm"] = spec.alarm;
  if (!spec.traceparent.empty()) object["traceparent"] = spec.traceparent;
  if (spec.replace_on_exist) object["replace_on_exist"] = true;
  return dump(object);
}

const char* to_string(SubmitStatus status) {
  switch (status) {
    case SubmitStatus::kAccepted:
      return "accepted";
    case SubmitStatus::kDuplicate:
      return "duplicate";
    case SubmitStatus::kRejected:
      return "rejected";
    case SubmitStatus::kStored:
      return "stored";
  }
  return "unknown";
}

std::string answer_to_json(const SubmitAnswer& answer) {
  Json object{{"task_id", answer.task_id}, {"group", answer.group}};
  if (answer.job_id) object["job_id"] = std::to_string(answer.job_id.value);
  object["status"] = to_string(answer.status);
  if (!answer.tz.empty()) object["tz"] = answer.tz;
  if (!answer.reason.empty()) object["reason"] = answer.reason;
  if (!answer.warning.empty()) object["warning"] = answer.warning;
  return dump(object);
}

std::string row_to_json(const Row& row) {
  Json object = Json::object();
  for (const auto& [key, value] : row) {
    std::visit(
        [&](const auto& held) {
          if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
            object[key] = nullptr;
          } else {
            object[key] = held;
          }
        },
        value);
  }
  return dump(object);
}

}  // namespace carillon::wire
