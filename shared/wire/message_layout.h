#pragma once

#include "shared/base/principal.h"
#include "shared/job/bucket.h"
#include "shared/wire/layout.h"
#include "shared/wire/messages.h"
#include "shared/wire/spec_layout.h"

// The fields of each message and of its parts.
namespace carillon::wire {

template <>
inline constexpr NumberRange kRange<ErrorCode>{1, 8};
template <>
inline constexpr NumberRange kRange<SubmitStatus>{0, 3};
template <>
inline constexpr NumberRange kRange<Verb>{0, 17};
template <>
inline constexpr NumberRange kRange<RunOutcome>{0, 6};
template <>
inline constexpr NumberRange kRange<Stream>{1, 3};

template <>
struct Layout<Error> {
  static constexpr std::string_view kName = "Error";
  static constexpr std::tuple kSlots{slot("code", &Error::code), slot("message", &Error::message)};
};

template <>
struct Layout<ErrorReply> {
  static constexpr std::string_view kName = "ErrorReply";
  static constexpr std::tuple kSlots{slot("error", &ErrorReply::error)};
};

template <>
struct Layout<RequestNumber> {
  static constexpr std::string_view kName = "RequestNumber";
  static constexpr std::tuple kSlots{slot("client", &RequestNumber::client),
                                     slot("sequence", &RequestNumber::sequence)};
};

template <>
struct Layout<Submit> {
  static constexpr std::string_view kName = "Submit";
  static constexpr std::tuple kSlots{
      slot("request", &Submit::request), slot("jobs", &Submit::jobs, kSubmitJobsMax),
      slot("suspended", &Submit::suspended), slot("fingerprint", &Submit::fingerprint)};
};

template <>
struct Layout<SubmitAnswer> {
  static constexpr std::string_view kName = "SubmitAnswer";
  static constexpr std::tuple kSlots{
      slot("task_id", &SubmitAnswer::task_id), slot("group", &SubmitAnswer::group),
      slot("job_id", &SubmitAnswer::job_id),   slot("status", &SubmitAnswer::status),
      slot("tz", &SubmitAnswer::tz),           slot("reason", &SubmitAnswer::reason),
      slot("warning", &SubmitAnswer::warning)};
};

template <>
struct Layout<Submitted> {
  static constexpr std::string_view kName = "Submitted";
  static constexpr std::tuple kSlots{slot("answers", &Submitted::answers, kSubmitJobsMax),
                                     slot("fingerprint", &Submitted::fingerprint)};
};

template <>
struct Layout<Act> {
  static constexpr std::string_view kName = "Act";
  static constexpr std::tuple kSlots{slot("request", &Act::request),
                                     slot("verb", &Act::verb),
                                     slot("group", &Act::group),
                                     slot("task_id", &Act::task_id),
                                     slot("job_id", &Act::job_id),
                                     bytes("payload", &Act::payload),
                                     slot("force", &Act::force),
                                     slot("addresses", &Act::addresses, kAddressesMax),
                                     slot("token", &Act::token),
                                     slot("parts", &Act::parts),
                                     slot("after", &Act::after),
                                     slot("before", &Act::before),
                                     slot("until", &Act::until_us),
                                     slot("language", &Act::language),
                                     slot("remark", &Act::remark),
                                     slot("script_version", &Act::script_version),
                                     slot("fingerprint", &Act::fingerprint),
                                     slot("node", &Act::node),
                                     slot("priority", &Act::priority)};
};

template <>
struct Layout<Acted> {
  static constexpr std::string_view kName = "Acted";
  static constexpr std::tuple kSlots{slot("job_id", &Acted::job_id),
                                     slot("message", &Acted::message), slot("count", &Acted::count),
                                     slot("next", &Acted::next),
                                     slot("fingerprint", &Acted::fingerprint)};
};

// More than the number of states.
inline constexpr std::size_t kStatesMax = 16;

template <>
struct Layout<Query> {
  static constexpr std::string_view kName = "Query";
  static constexpr std::tuple kSlots{slot("what", &Query::what),
                                     slot("group", &Query::group),
                                     slot("task_id", &Query::task_id),
                                     slot("job_id", &Query::job_id),
                                     slot("since", &Query::since_us),
                                     slot("until", &Query::until_us),
                                     slot("limit", &Query::limit),
                                     slot("after", &Query::after),
                                     slot("states", &Query::states, kStatesMax),
                                     slot("by", &Query::by),
                                     slot("text", &Query::text),
                                     slot("task_prefix", &Query::task_prefix),
                                     slot("kinds", &Query::kinds, kStatesMax),
                                     slot("tag", &Query::tag),
                                     slot("owner", &Query::owner),
                                     slot("step", &Query::step_us)};
};

template <>
struct Layout<Rows> {
  static constexpr std::string_view kName = "Rows";
  static constexpr std::tuple kSlots{slot("rows", &Rows::rows), slot("next", &Rows::next)};
};

template <>
struct Layout<Held> {
  static constexpr std::string_view kName = "Held";
  static constexpr std::tuple kSlots{slot("id", &Held::id), slot("started", &Held::started)};
};

template <>
struct Layout<Register> {
  static constexpr std::string_view kName = "Register";
  static constexpr std::tuple kSlots{
      slot("session", &Register::session), slot("name", &Register::name),
      slot("group", &Register::group),     slot("threads", &Register::threads),
      slot("labels", &Register::labels),   slot("allow", &Register::allow),
      slot("version", &Register::version), slot("holding", &Register::holding),
      slot("address", &Register::address), slot("number", &Register::number),
      slot("waits", &Register::waits),     slot("pulls", &Register::pulls)};
};

template <>
struct Layout<OwnedPartition> {
  static constexpr std::string_view kName = "OwnedPartition";
  static constexpr std::tuple kSlots{slot("part", &OwnedPartition::part),
                                     slot("epoch", &OwnedPartition::epoch)};
};

template <>
struct Layout<Registered> {
  static constexpr std::string_view kName = "Registered";
  static constexpr std::tuple kSlots{
      slot("lease", &Registered::lease), slot("pull_interval", &Registered::pull_interval),
      slot("tracker_session", &Registered::tracker_session), slot("parts", &Registered::parts),
      slot("owned", &Registered::owned, kPartsMax)};
};

template <>
struct Layout<Pull> {
  static constexpr std::string_view kName = "Pull";
  static constexpr std::tuple kSlots{slot("session", &Pull::session),
                                     slot("number", &Pull::number),
                                     slot("handout_seen", &Pull::handout_seen),
                                     slot("answered", &Pull::answered),
                                     slot("window", &Pull::window),
                                     slot("holding", &Pull::holding),
                                     slot("overload", &Pull::overload),
                                     slot("draining", &Pull::draining)};
};

template <>
struct Layout<Pulled> {
  static constexpr std::string_view kName = "Pulled";
  static constexpr std::tuple kSlots{slot("number", &Pulled::number)};
};

template <>
struct Layout<HandedJob> {
  static constexpr std::string_view kName = "HandedJob";
  static constexpr std::tuple kSlots{
      slot("id", &HandedJob::id), slot("task_id", &HandedJob::task_id),
      slot("trigger_time", &HandedJob::trigger_time), bytes("spec", &HandedJob::spec),
      slot("wait", &HandedJob::wait)};
};

template <>
struct Layout<HandOut> {
  static constexpr std::string_view kName = "HandOut";
  static constexpr std::tuple kSlots{slot("session", &HandOut::session),
                                     slot("number", &HandOut::number), slot("pull", &HandOut::pull),
                                     slot("jobs", &HandOut::jobs),
                                     slot("tracker_session", &HandOut::tracker_session)};
};

template <>
struct Layout<RunResult> {
  static constexpr std::string_view kName = "RunResult";
  static constexpr std::tuple kSlots{slot("id", &RunResult::id),
                                     slot("outcome", &RunResult::outcome),
                                     slot("exit_code", &RunResult::exit_code),
                                     slot("message", &RunResult::message),
                                     slot("started_at", &RunResult::started_at),
                                     slot("ended_at", &RunResult::ended_at),
                                     slot("later", &RunResult::later),
                                     slot("bucket", &RunResult::bucket)};
};

template <>
struct Layout<Report> {
  static constexpr std::string_view kName = "Report";
  static constexpr std::tuple kSlots{slot("session", &Report::session),
                                     slot("results", &Report::results, kReportResultsMax),
                                     slot("origin", &Report::origin)};
};

template <>
struct Layout<GiveBack> {
  static constexpr std::string_view kName = "GiveBack";
  static constexpr std::tuple kSlots{slot("session", &GiveBack::session),
                                     slot("jobs", &GiveBack::jobs)};
};

template <>
struct Layout<Reported> {
  static constexpr std::string_view kName = "Reported";
  static constexpr std::tuple kSlots{slot("done", &Reported::done)};
};

template <>
struct Layout<OutputChunk> {
  static constexpr std::string_view kName = "OutputChunk";
  static constexpr std::tuple kSlots{
      slot("id", &OutputChunk::id), slot("sequence", &OutputChunk::sequence),
      slot("stream", &OutputChunk::stream), slot("at", &OutputChunk::at),
      bytes("bytes", &OutputChunk::bytes)};
};

template <>
struct Layout<Output> {
  static constexpr std::string_view kName = "Output";
  static constexpr std::tuple kSlots{slot("session", &Output::session),
                                     slot("chunks", &Output::chunks),
                                     slot("origin", &Output::origin)};
};

template <>
struct Layout<OutputTaken> {
  static constexpr std::string_view kName = "OutputTaken";
  static constexpr std::tuple kSlots{slot("chunks", &OutputTaken::chunks)};
};

template <>
struct Layout<Kill> {
  static constexpr std::string_view kName = "Kill";
  static constexpr std::tuple kSlots{slot("jobs", &Kill::jobs), slot("reason", &Kill::reason)};
};

template <>
struct Layout<Bye> {
  static constexpr std::string_view kName = "Bye";
  static constexpr std::tuple kSlots{slot("session", &Bye::session), slot("group", &Bye::group)};
};

template <>
struct Layout<Gone> {
  static constexpr std::string_view kName = "Gone";
  static constexpr std::tuple<> kSlots{};
};

template <>
struct Layout<FetchFeedback> {
  static constexpr std::string_view kName = "FetchFeedback";
  static constexpr std::tuple kSlots{
      slot("client_group", &FetchFeedback::client_group),
      slot("listener", &FetchFeedback::listener), slot("done", &FetchFeedback::done, kFeedbackMax),
      slot("refused", &FetchFeedback::refused), slot("limit", &FetchFeedback::limit)};
};

template <>
struct Layout<FeedbackEntry> {
  static constexpr std::string_view kName = "FeedbackEntry";
  static constexpr std::tuple kSlots{slot("id", &FeedbackEntry::id),
                                     slot("job_id", &FeedbackEntry::job_id),
                                     slot("task_id", &FeedbackEntry::task_id),
                                     slot("group", &FeedbackEntry::group),
                                     slot("attempt", &FeedbackEntry::attempt),
                                     slot("state", &FeedbackEntry::state),
                                     slot("trigger_time", &FeedbackEntry::trigger_time),
                                     slot("started_at", &FeedbackEntry::started_at),
                                     slot("ended_at", &FeedbackEntry::ended_at),
                                     slot("node", &FeedbackEntry::node),
                                     slot("exit_code", &FeedbackEntry::exit_code),
                                     slot("message", &FeedbackEntry::message)};
};

template <>
struct Layout<Feedback> {
  static constexpr std::string_view kName = "Feedback";
  static constexpr std::tuple kSlots{slot("results", &Feedback::results, kFeedbackMax)};
};

template <>
struct Layout<PutPrincipal> {
  static constexpr std::string_view kName = "PutPrincipal";
  static constexpr std::tuple kSlots{slot("kind", &PutPrincipal::kind),
                                     slot("name", &PutPrincipal::name),
                                     slot("role", &PutPrincipal::role),
                                     slot("groups", &PutPrincipal::groups, kGroupPatternsMax),
                                     slot("secret", &PutPrincipal::secret),
                                     slot("expires", &PutPrincipal::expires_us),
                                     slot("replaces", &PutPrincipal::replaces),
                                     slot("language", &PutPrincipal::language)};
};

template <>
struct Layout<RemovePrincipal> {
  static constexpr std::string_view kName = "RemovePrincipal";
  static constexpr std::tuple kSlots{slot("kind", &RemovePrincipal::kind),
                                     slot("name", &RemovePrincipal::name)};
};

template <>
struct Layout<OnBehalf> {
  static constexpr std::string_view kName = "OnBehalf";
  static constexpr std::tuple kSlots{
      slot("kind", &OnBehalf::kind), slot("name", &OnBehalf::name), slot("role", &OnBehalf::role),
      slot("groups", &OnBehalf::groups, kGroupPatternsMax), slot("address", &OnBehalf::address)};
};

template <>
struct Layout<Redirect> {
  static constexpr std::string_view kName = "Redirect";
  static constexpr std::tuple kSlots{slot("address", &Redirect::address),
                                     slot("parts", &Redirect::parts)};
};

}  // namespace carillon::wire
