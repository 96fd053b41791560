#include "jobclient/submit/submit_queue.h"

#include <utility>

namespace carillon {
namespace {

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
                      job.run.http.body.size();
  for (const std::string& tag : job.tags) bytes += tag.size() + kPerText;
  for (const std::string& part : job.run.command) bytes += part.size() + kPerText;
  for (const auto& [name, value] : job.params) bytes += name.size() + value.size() + 2 * kPerText;
  for (const auto& [name, value] : job.run.http.headers) {
    bytes += name.size() + value.size() + 2 * kPerText;
  }
  return bytes;
}

}  // namespace

SubmitAnswer from_wire(wire::SubmitAnswer&& answer) {
  return {.task_id = std::move(answer.task_id),
          .group = std::move(answer.group),
          .job_id = answer.job_id,
          .status = static_cast<SubmitStatus>(answer.status),
          .tz = std::move(answer.tz),
          .reason = std::move(answer.reason),
          .warning = std::move(answer.warning)};
}

SubmitQueue::SubmitQueue(Requests& requests, const Clock& clock)
    : requests_(requests), clock_(clock) {}

void SubmitQueue::add(std::vector<JobSpec> jobs, Done done) {
  if (jobs.empty()) {
    done(std::vector<SubmitAnswer>{});
    return;
  }
  if (waiting_.size() + jobs.size() > kJobsQueuedMax) {
    done(Error{ErrorCode::kLimit,
               std::to_string(waiting_.size()) + " jobs wait to be submitted already, at most " +
                   std::to_string(kJobsQueuedMax) + " may (submit fewer at a time)"});
    return;
  }
  const SteadyTime now = clock_.steady_now();
  auto call = std::make_shared<Call>();
  call->answers.resize(jobs.size());
  call->open = jobs.size();
  call->done = std::move(done);
  for (std::size_t place = 0; place < jobs.size(); ++place) {
    JobSpec& job = jobs[place];
    if (const Status valid = job.validate(); !valid.ok()) {
      call->answers[place] = {.task_id = std::move(job.task_id),
                              .group = std::move(job.group),
                              .status = SubmitStatus::kRejected,
                              .reason = valid.error().message};
      finish_one(*call);
      continue;
    }
    const std::size_t bytes = bytes_bound(job);
    waiting_.push_back({call, place, bytes, std::move(job), now});
  }
}

void SubmitQueue::flush() {
  while (!waiting_.empty() && requests_.has_room()) send_one_message();
}

void SubmitQueue::send_one_message() {
  wire::Submit submit;
  std::vector<Sent> sent;
  std::size_t bytes = 0;
  const SteadyTime since = waiting_.front().since;
  while (!waiting_.empty() && submit.jobs.size() < wire::kSubmitJobsMax) {
    Waiting& next = waiting_.front();
    if (!next.call->error) {
      if (bytes > 0 && bytes + next.bytes > kSubmitBytesAim) break;
      bytes += next.bytes;
      submit.jobs.push_back(std::move(next.job));
      sent.push_back({std::move(next.call), next.place});
    } else {
      finish_one(*next.call);  // An earlier message of this call failed already.
    }
    waiting_.pop_front();
  }
  if (submit.jobs.empty()) return;
  requests_.ask(std::move(submit), since,
                [this, sent = std::move(sent)](Result<wire::Message> answer) {
                  take_answer(sent, std::move(answer));
                });
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
    if (error) {
      if (!call.error) call.error = error;
    } else {
      call.answers[sent[i].place] = from_wire(std::move(submitted->answers[i]));
    }
    finish_one(call);
  }
}

void SubmitQueue::finish_one(Call& call) {
  if (--call.open > 0) return;
  if (call.error) {
    call.done(*call.error);
  } else {
    call.done(std::move(call.answers));
  }
}

void SubmitQueue::close() {
  const Error closed{ErrorCode::kUnavailable, "the job client was closed before the answer came"};
  std::deque<Waiting> waiting = std::exchange(waiting_, {});
  for (Waiting& job : waiting) {
    if (!job.call->error) job.call->error = closed;
    finish_one(*job.call);
  }
}

}  // namespace carillon
