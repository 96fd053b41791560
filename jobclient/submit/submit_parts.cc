#include "jobclient/submit/submit_parts.h"

#include <map>
#include <string>
#include <utility>

#include "jobclient/submit/requests.h"

namespace carillon {
namespace {

// The number of a part of a submission: the same whenever it is sent in parts.
wire::RequestNumber part_of(wire::RequestNumber whole, const std::string& subject) {
  auto hash = static_cast<std::uint64_t>(whole.client);
  for (const char c : subject) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return {static_cast<std::int64_t>(hash >> 5) | 1, whole.sequence};
}

}  // namespace

SubmitParts::SubmitParts(wire::Submit whole, std::int32_t group_parts) {
  reply_.answers.resize(whole.jobs.size());
  reply_.fingerprint = fingerprint_ = whole.fingerprint;
  std::map<std::string, SubmitPart> parts;
  for (std::size_t i = 0; i < whole.jobs.size(); ++i) {
    JobSpec& job = whole.jobs[i];
    const std::string subject = part_subject(job.group, group_parts, job.task_id);
    SubmitPart& part = parts[subject];
    part.submit.request = part_of(whole.request, subject);
    part.submit.suspended = whole.suspended;
    part.submit.fingerprint = whole.fingerprint;
    part.places.push_back(i);
    reply_.answers[i].task_id = job.task_id;
    reply_.answers[i].group = job.group;
    part.submit.jobs.push_back(std::move(job));
  }
  open_ = parts.size();
  for (auto& [subject, part] : parts) parts_.push_back(std::move(part));
}

std::vector<SubmitPart> SubmitParts::take_parts() { return std::exchange(parts_, {}); }

bool SubmitParts::take(const std::vector<std::size_t>& places, Result<wire::Message> answered) {
  auto* reply = answered.ok() ? std::get_if<wire::Submitted>(&answered.value()) : nullptr;
  if (reply != nullptr && reply->fingerprint != fingerprint_)
    reply_.fingerprint = reply->fingerprint;
  if (!answered.ok()) {
    fail(places, answered.error());
  } else if (reply == nullptr || reply->answers.size() != places.size()) {
    fail(places, {ErrorCode::kCorrupt, "the job tracker's answer does not fit the submission"});
  } else {
    is_alike_ = false;
    for (std::size_t i = 0; i < places.size(); ++i) {
      reply_.answers[places[i]] = std::move(reply->answers[i]);
    }
  }
  return --open_ == 0;
}

void SubmitParts::fail(const std::vector<std::size_t>& places, const Error& why) {
  if (!error_) error_ = why;
  is_alike_ = is_alike_ && *error_ == why;
  for (const std::size_t place : places) {
    reply_.answers[place].status = may_be_taken(why.code) ? kUnansweredPart : kNotTakenPart;
    reply_.answers[place].reason = why.message;
  }
}

Result<wire::Message> SubmitParts::result(bool may_be_mixed) {
  if (!error_ || (may_be_mixed && !is_alike_)) return wire::Message{std::move(reply_)};
  if (is_alike_ || error_->code == ErrorCode::kTimeout) return *error_;
  return Error{ErrorCode::kTimeout,
               error_->message + ", but other parts of it may have been accepted" + kAskFirst};
}

}  // namespace carillon
