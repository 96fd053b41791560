#pragma once

#include "carillon/job_spec.h"
#include "shared/wire/layout.h"

// The fields of a JobSpec and of its parts.
namespace carillon::wire {

template <>
inline constexpr NumberRange kRange<ScheduleKind>{0, 5};
template <>
inline constexpr NumberRange kRange<DstRule>{0, 3};
template <>
inline constexpr NumberRange kRange<RunKind>{0, 4};
template <>
inline constexpr NumberRange kRange<Overlap>{0, 4};
template <>
inline constexpr NumberRange kRange<MisfirePolicy>{0, 2};
template <>
inline constexpr NumberRange kRange<RetryBackoff>{0, 1};
template <>
inline constexpr NumberRange kRange<Dispatch>{0, 2};
template <>
inline constexpr NumberRange kRange<Route>{0, 9};
template <>
inline constexpr NumberRange kRange<Block>{0, 2};

template <>
struct Layout<HttpRequest> {
  static constexpr std::string_view kName = "HttpRequest";
  static constexpr std::tuple kSlots{
      slot("method", &HttpRequest::method), slot("url", &HttpRequest::url),
      slot("headers", &HttpRequest::headers), bytes("body", &HttpRequest::body)};
};

template <>
struct Layout<Run> {
  static constexpr std::string_view kName = "Run";
  static constexpr std::tuple kSlots{slot("kind", &Run::kind),
                                     slot("handler", &Run::handler),
                                     slot("command", &Run::command),
                                     slot("shell", &Run::shell),
                                     slot("language", &Run::script_language),
                                     slot("source", &Run::script_source),
                                     slot("remark", &Run::script_remark),
                                     slot("http", &Run::http)};
};

template <>
struct Layout<Schedule> {
  static constexpr std::string_view kName = "Schedule";
  static constexpr std::tuple kSlots{
      slot("kind", &Schedule::kind),   slot("at", &Schedule::at),
      slot("cron", &Schedule::cron),   slot("tz", &Schedule::tz),
      slot("dst", &Schedule::dst),     slot("interval", &Schedule::interval),
      slot("count", &Schedule::count), slot("first", &Schedule::first)};
};

template <>
struct Layout<Misfire> {
  static constexpr std::string_view kName = "Misfire";
  static constexpr std::tuple kSlots{slot("policy", &Misfire::policy), slot("max", &Misfire::max),
                                     slot("window", &Misfire::window),
                                     slot("threshold", &Misfire::threshold)};
};

template <>
struct Layout<RetryPolicy> {
  static constexpr std::string_view kName = "RetryPolicy";
  static constexpr std::tuple kSlots{
      slot("max", &RetryPolicy::max), slot("policy", &RetryPolicy::policy),
      slot("base", &RetryPolicy::base), slot("cap", &RetryPolicy::cap),
      slot("jitter", &RetryPolicy::jitter)};
};

template <>
struct Layout<Child> {
  static constexpr std::string_view kName = "Child";
  static constexpr std::tuple kSlots{slot("group", &Child::group),
                                     slot("task_id", &Child::task_id)};
};

template <>
struct Layout<Push> {
  static constexpr std::string_view kName = "Push";
  static constexpr std::tuple kSlots{slot("route", &Push::route), slot("block", &Push::block),
                                     slot("addresses", &Push::addresses, kAddressesMax)};
};

template <>
struct Layout<JobSpec> {
  static constexpr std::string_view kName = "JobSpec";
  static constexpr std::tuple kSlots{slot("task_id", &JobSpec::task_id),
                                     slot("group", &JobSpec::group),
                                     slot("description", &JobSpec::description),
                                     slot("owner", &JobSpec::owner),
                                     slot("tags", &JobSpec::tags),
                                     slot("schedule", &JobSpec::schedule),
                                     slot("priority", &JobSpec::priority),
                                     slot("params", &JobSpec::params),
                                     bytes("payload", &JobSpec::payload),
                                     slot("run", &JobSpec::run),
                                     slot("dispatch", &JobSpec::dispatch),
                                     slot("push", &JobSpec::push),
                                     slot("overlap", &JobSpec::overlap),
                                     slot("misfire", &JobSpec::misfire),
                                     slot("retries", &JobSpec::retries),
                                     slot("timeout", &JobSpec::timeout),
                                     slot("start_deadline", &JobSpec::start_deadline),
                                     slot("replace_on_exist", &JobSpec::replace_on_exist),
                                     slot("children", &JobSpec::children, kChildrenMax),
                                     slot("need_feedback", &JobSpec::need_feedback),
                                     slot("client_group", &JobSpec::client_group),
                                     slot("alarm", &JobSpec::alarm, kAlarmRecipientsMax),
                                     slot("traceparent", &JobSpec::traceparent)};
};

}  // namespace carillon::wire
