#include "jobclient/submit/submit_queue.h"

#include <cstdint>
#include <utility>

#include "jobclient/submit/submit_parts.h"

namespace carillon {
namespace {

constexpr const char* kNotSent = "not sent, because of jobs before it: ";

// No less than the job takes in a message: each text with its length, and room for the fields'
// names and numbers.
std::size_t bytes_bound(const JobSpec& job) {
  constexpr std::size_t kPerText = 8;
  constexpr std::size_t kFixed = 512;
  std::size_t bytes = kFixed + job.task_id.size() + job.group.size() + job.description.size() +
                      job.owner.size() + job.payload.size() + job.schedule.cron.size() +
                      job.schedule.tz.size() + job.run.handler.size() + job.run.shell.size() +
                      job.run.script_language.size() + job.run.script_source.size() +
                      job.run.http.method.size() + job.run.http.url.size() +
                      job.run.http.body.size() + job.run.script_remark.size() +
                      job.client_group.size() + job.traceparent.size();
  for (const std::string& tag : job.tags) bytes += tag.size() + kPerText;
  for (const std::string& part : job.run.command) bytes += part.size() + kPerText;
  for (const auto& [name, value] : job.params) bytes += name.size() + value.size() + 2 * kPerText;
  for (const auto& [name, value] : job.run.http.headers) {
    bytes += name.size() + value.size() + 2 * kPerText;
  }
  for (const std::string& address : job.push.addresses) bytes += address.size() + kPerText;
  for (const auto& child : job.children)
    bytes += child.group.size() + child.task_id.size() + 2 * kPerText;
  for (const std::string& recipient : job.alarm) bytes += recipient.size() + kPerText;
  return bytes;
}

}  // namespace

// FNV-1a; a group's case makes no difference.
std::optional<std::uint64_t> task_number(const JobSpec& job) {
  if (job.task_id.empty()) return std::nullopt;
  std::uint64_t number = 14695981039346656037ULL;
  const auto add = [&number](char one) {
    number = (number ^ static_cast<unsigned char>(one)) * 1099511628211ULL;
  };
  for (const char one : job.group)
    add(one >= 'A' && one <= 'Z' ? static_cast<char>(one + 32) : one);
  add('\0');
  for (const char one : job.task_id) add(one);
  return number;
}

SubmitAnswer from_wire(wire::SubmitAnswer&& answer) {
  return {.task_id = std::move(answer.task_id),
          .group = std::move(answer.group),
          .job_id = answer.job_id,
          .status = static_cast<SubmitStatus>(answer.status),
          .tz = std::move(answer.tz),
          .reason = std::move(answer.reason),
          .warning = std::move(answer.warning)};
}

SubmitAnswer failed_answer(std::string task_id, std::string group, const Error& why) {
  return {.task_id = std::move(task_id),
          .group = std::move(group),
          .status = may_be_taken(why.code) ? SubmitStatus::kUnanswered : SubmitStatus::kNotTaken,
          .reason = why.message,
          .error = why.code};
}

Error not_sent(const Error& why) {
  if (why.message.starts_with(kNotSent)) return why;
  return {may_be_taken(why.code) ? ErrorCode::kUnavailable : why.code, kNotSent + why.message};
}

bool SubmitQueue::Call::find_valid(std::size_t place) {
  while (place < jobs.size() && !answers[place].reason.empty()) ++place;
  next = place;
  return next < jobs.size();
}

void SubmitQueue::Call::take(std::size_t place, SubmitAnswer answer) {
  is_alike = false;
  answers[place] = std::move(answer);
}

void SubmitQueue::Call::fail(std::size_t place, const Error& why) {
  if (!error) error = why;
  is_alike = is_alike && *error == why;
  SubmitAnswer& answer = answers[place];
  answer = failed_answer(std::move(answer.task_id), std::move(answer.group), why);
}

SubmitQueue::SubmitQueue(Requests& requests, const Clock& clock)
    : requests_(requests), clock_(clock) {}

void SubmitQueue::add(std::vector<JobSpec> jobs, Done done, std::optional<SteadyTime> since,
                      bool suspended, std::optional<wire::OnBehalf> on_behalf) {
  if (jobs.empty()) {
    done(std::vector<SubmitAnswer>{});
    return;
  }
  if (const Status room = check_room(jobs.size()); !room.ok()) {
    done(room.error());
    return;
  }
  // Jobs stay where they are until a message has room for them, so that the first of many leave at
  // once.
  auto call = std::make_shared<Call>();
  call->since = since.value_or(clock_.steady_now());
  call->suspended = suspended;
  call->on_behalf = std::move(on_behalf);
  call->answers.resize(jobs.size());
  call->jobs = std::move(jobs);
  call->done = std::move(done);
  for (std::size_t place = 0; place < call->jobs.size(); ++place) {
    JobSpec& job = call->jobs[place];
    const Status valid = job.validate();
    if (valid.ok()) {
      ++call->open;
      call->bytes += bytes_bound(job);
      call->answers[place].task_id = job.task_id;
      call->answers[place].group = job.group;
      continue;
    }
    call->take(place, {.task_id = std::move(job.task_id),
                       .group = std::move(job.group),
                       .status = SubmitStatus::kRejected,
                       .reason = valid.error().message});
  }
  if (call->open == 0) {
    call->done(std::move(call->answers));
    return;
  }
  jobs_waiting_ += call->open;
  call->find_valid(0);
  waiting_.push_back(std::move(call));
}

Status SubmitQueue::check_room(std::size_t jobs) const {
  if (jobs > kJobsQueuedMax) {
    return Error{ErrorCode::kLimit, std::to_string(jobs) + " jobs, at most " +
                                        std::to_string(kJobsQueuedMax) +
                                        " may be submitted at once (submit fewer at a time)"};
  }
  if (jobs_waiting_ + jobs > kJobsQueuedMax) {
    return Error{ErrorCode::kLimit, std::to_string(jobs_waiting_) +
                                        " jobs are already waiting for submission, at most " +
                                        std::to_string(kJobsQueuedMax) +
                                        " may (submit fewer at a time)"};
  }
  if (waiting_.empty() || !has_waited(requests_.answer_timeout() / 3, *waiting_.front())) return {};
  return Error{ErrorCode::kLimit, std::to_string(jobs_waiting_) +
                                      " jobs are already waiting for submission, because the job "
                                      "tracker accepts them more slowly (submit fewer at a time)"};
}

// For longer, while others are answered.
bool SubmitQueue::has_waited(Duration longest, const Call& call) const {
  return requests_.is_sending() && clock_.steady_now() - call.since > longest;
}

// Calls of which nothing was sent.
void SubmitQueue::refuse_late() {
  std::vector<std::shared_ptr<Call>> late;
  auto call = waiting_.begin();
  if (call != waiting_.end() && (*call)->was_sent) ++call;
  while (call != waiting_.end() && has_waited(requests_.answer_timeout() / 2, **call)) {
    jobs_waiting_ -= (*call)->open;
    late.push_back(std::move(*call));
    call = waiting_.erase(call);
  }
  for (const std::shared_ptr<Call>& one : late) {
    finish_rest(*one, {ErrorCode::kLimit,
                       "the jobs waited for submission for half of their time, because the job "
                       "tracker accepts them more slowly (submit fewer at a time)"});
  }
}

void SubmitQueue::flush() {
  refuse_late();
  while (!waiting_.empty() && requests_.has_room() && send_one_message()) {
  }
}

// The next has room for all of the call, this one, which has some jobs, has not.
bool SubmitQueue::is_for_next_message(const Call& call, std::size_t jobs, std::size_t bytes) {
  if (jobs == 0 || call.was_sent) return false;
  if (call.open > wire::kSubmitJobsMax || call.bytes > kSubmitBytesAim) return false;
  return jobs + call.open > wire::kSubmitJobsMax || bytes + call.bytes > kSubmitBytesAim;
}

bool SubmitQueue::send_one_message() {
  wire::Submit submit{.suspended = waiting_.front()->suspended};
  const std::optional<wire::OnBehalf> on_behalf = waiting_.front()->on_behalf;
  std::vector<Sent> sent;
  std::size_t bytes = 0;
  const SteadyTime since = waiting_.front()->since;
  while (!waiting_.empty() && submit.jobs.size() < wire::kSubmitJobsMax) {
    const std::shared_ptr<Call> call = waiting_.front();
    const std::size_t place = call->next;
    if (call->suspended != submit.suspended || call->on_behalf != on_behalf) break;
    if (call->error) {  // An earlier message of this call failed already.
      call->fail(place, not_sent(*call->error));
      pass_next();
      finish_one(*call);
      continue;
    }
    if (is_for_next_message(*call, submit.jobs.size(), bytes)) break;
    JobSpec& job = call->jobs[place];
    const std::size_t job_bytes = bytes_bound(job);
    if (bytes > 0 && bytes + job_bytes > kSubmitBytesAim) break;
    // A job tracker may take messages, and jobs of one, in any order. Of one task each waits for
    // the answer to the one before.
    const auto task = task_number(job);
    if (task && !sent_tasks_.insert(*task).second) break;
    bytes += job_bytes;
    submit.jobs.push_back(std::move(job));
    sent.push_back({call, place, task});
    call->was_sent = true;
    pass_next();
  }
  if (submit.jobs.empty()) return false;
  requests_.ask(
      std::move(submit), since,
      [this, sent = std::move(sent)](Result<wire::Message> answer) {
        take_answer(sent, std::move(answer));
      },
      on_behalf);
  return true;
}

// To the next valid job, while its answers are still here: a call is over with the answer to its
// last valid one.
void SubmitQueue::pass_next() {
  Call& call = *waiting_.front();
  --jobs_waiting_;
  if (!call.find_valid(call.next + 1)) waiting_.pop_front();
}

void SubmitQueue::take_answer(const std::vector<Sent>& sent, Result<wire::Message> answer) {
  std::optional<Error> error;
  wire::Submitted* submitted = nullptr;
  if (!answer.ok()) {
    error = answer.error();
  } else {
    submitted = std::get_if<wire::Submitted>(&answer.value());
    if (submitted == nullptr || submitted->answers.size() != sent.size()) {
      error = Error{ErrorCode::kCorrupt, "the job tracker's answer does not fit the submission"};
    }
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    Call& call = *sent[i].call;
    if (sent[i].task) sent_tasks_.erase(*sent[i].task);
    if (error) {
      call.fail(sent[i].place, *error);
    } else {
      take_one(call, sent[i].place, std::move(submitted->answers[i]));
    }
    finish_one(call);
  }
}

// One of a part that failed is said to be so.
void SubmitQueue::take_one(Call& call, std::size_t place, wire::SubmitAnswer&& answer) {
  if (answer.status == kUnansweredPart) {
    return call.fail(place, {ErrorCode::kTimeout, std::move(answer.reason)});
  }
  if (answer.status == kNotTakenPart) {
    return call.fail(place, {ErrorCode::kUnavailable, std::move(answer.reason)});
  }
  call.take(place, from_wire(std::move(answer)));
}

void SubmitQueue::finish_one(Call& call) {
  if (--call.open > 0) return;
  if (call.error && call.is_alike) {
    call.done(*call.error);
  } else {
    call.done(std::move(call.answers));
  }
}

void SubmitQueue::close() {
  const Error closed{ErrorCode::kUnavailable, "the job client was closed before the answer came"};
  jobs_waiting_ = 0;
  for (const std::shared_ptr<Call>& call : std::exchange(waiting_, {})) finish_rest(*call, closed);
}

// Those of its jobs that are in no message.
void SubmitQueue::finish_rest(Call& call, const Error& error) {
  bool has_more = true;
  while (has_more) {
    call.fail(call.next, error);
    has_more = call.find_valid(call.next + 1);
    finish_one(call);
  }
}

}  // namespace carillon
