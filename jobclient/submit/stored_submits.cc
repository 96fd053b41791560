#include "jobclient/submit/stored_submits.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "jobclient/submit/submit_queue.h"
#include "shared/base/time_text.h"
#include "shared/outbox/outbox.h"
#include "shared/wire/codec.h"

namespace carillon {
namespace {

constexpr Duration kRetryAfter = std::chrono::seconds{1};
// A tracker forgets an answer after seven days.
constexpr Duration kAnswerIsSafe = std::chrono::hours{24 * 6};

constexpr const char* kMakeRoom = " (`jobclient flush` shows and removes them)";

// 1 .. 2^59-1, see wire::RequestNumber.
std::int64_t draw_client(Random& random) {
  const auto drawn = static_cast<std::int64_t>(random.next() >> 5);
  return drawn == 0 ? 1 : drawn;
}

Result<wire::Submit> stored_submit(const std::string& frame) {
  auto envelope = CARILLON_TRY(wire::decode(frame));
  auto* submit = std::get_if<wire::Submit>(&envelope.message);
  if (submit == nullptr || submit->jobs.empty()) {
    return Error{ErrorCode::kCorrupt, "it is not a submission"};
  }
  return std::move(*submit);
}

// What is stored has the number that it was sent with, so nobody needs to ask.
std::string without(std::string_view end, std::string text) {
  if (text.ends_with(end)) text.resize(text.size() - end.size());
  return text;
}

std::string why_stored(const UnansweredSubmit& submit) {
  return without(kAskFirst, submit.why.message) +
         (submit.number.sequence != 0 ? " (it runs once, even if it was accepted)" : "");
}

// As it is kept with what is set aside.
std::string kept_answer(const wire::SubmitAnswer& answer) {
  return wire::encode({0, wire::Submitted{.answers = {answer}}});
}

// Nothing where none was kept.
std::optional<SubmitAnswer> answer_kept(const std::string& kept) {
  if (kept.empty()) return std::nullopt;
  auto envelope = wire::decode(kept);
  if (!envelope.ok()) return std::nullopt;
  auto* submitted = std::get_if<wire::Submitted>(&envelope.value().message);
  if (submitted == nullptr || submitted->answers.size() != 1) return std::nullopt;
  return from_wire(std::move(submitted->answers.front()));
}

// An answer for each job of a stored Submit, or one where it cannot be read.
std::vector<SubmitAnswer> refusals_of(const std::string& frame, const std::string& reason) {
  auto submit = stored_submit(frame);
  if (!submit.ok()) return {{.status = SubmitStatus::kRejected, .reason = reason}};
  std::vector<SubmitAnswer> answers;
  for (JobSpec& job : submit.value().jobs) {
    answers.push_back({.task_id = std::move(job.task_id),
                       .group = std::move(job.group),
                       .status = SubmitStatus::kRejected,
                       .reason = reason});
  }
  return answers;
}

}  // namespace

std::string submissions_folder(const std::string& data) {
  return data.empty() ? "" : data + "/outbox/submissions";
}

void visit_refused_submits(const std::string& data, const Clock& clock,
                           const std::function<bool(const std::vector<SubmitAnswer>&)>& show) {
  if (data.empty()) return;
  outbox::visit_set_aside(
      submissions_folder(data), clock, [&show](const std::vector<outbox::SetAside>& set_aside) {
        std::vector<SubmitAnswer> answers;
        for (const outbox::SetAside& one : set_aside) {
          if (auto kept = answer_kept(one.answer)) {
            answers.push_back(std::move(*kept));
            continue;
          }
          auto refused = refusals_of(one.body, one.reason);
          std::move(refused.begin(), refused.end(), std::back_inserter(answers));
        }
        return show(answers);
      });
}

std::string jobs_of_each() {
  return "each of 1 to " + std::to_string(wire::kSubmitJobsMax) + " jobs";
}

Result<std::int64_t> discard_stored_submits(const std::string& data,
                                            const std::vector<std::string>& trackers,
                                            const Clock& clock) {
  std::int64_t jobs = 0;
  CARILLON_TRY(outbox::discard(
      submissions_folder(data), trackers, clock, [&jobs](const outbox::Entry& entry) {
        const auto submitted = stored_submit(entry.body);
        jobs += submitted.ok() ? static_cast<std::int64_t>(submitted.value().jobs.size()) : 1;
      }));
  return jobs;
}

StoredSubmits::StoredSubmits(outbox::OutboxWriter& writer, std::int64_t entries,
                             std::int64_t last_id, Requests& requests, const Clock& clock,
                             Random& random, OnDelivered on_delivered)
    : writer_(writer),
      requests_(requests),
      clock_(clock),
      on_delivered_(std::move(on_delivered)),
      client_(draw_client(random)),
      last_id_(last_id),
      left_(entries) {
  requests_.hold(has_entries());
}

void StoredSubmits::store(UnansweredSubmit submit) {
  auto message = stored_submit(submit.frame);
  if (!message.ok()) return submit.done(message.error());
  if (adding_bytes_ + submit.frame.size() > kUnstoredBytesMax) {
    return submit.done(
        Error{ErrorCode::kLimit,
              submit.why.message + ", and " + std::to_string(adding_bytes_) +
                  " bytes are already waiting for the outbox (submit fewer at a time)"});
  }
  Adding adding;
  for (JobSpec& job : message.value().jobs) {
    adding.answers.push_back({.task_id = std::move(job.task_id),
                              .group = std::move(job.group),
                              .status = SubmitStatus::kStored,
                              .reason = why_stored(submit)});
  }
  const bool was_sent = submit.number.sequence != 0;
  next_.add.push_back({.id = {outbox::kOwnSlot, ++last_id_},
                       .client = submit.number.client,
                       .sequence = submit.number.sequence,
                       .sent_at = was_sent ? clock_.wall_now() : WallTime{},
                       .body = std::move(submit.frame)});
  adding_bytes_ += next_.add.back().body.size();
  adding.submit = std::move(submit);
  adding_.push_back(std::move(adding));
  requests_.hold(true, last_refusal_);
}

void StoredSubmits::take_done() {
  while (std::optional<outbox::WorkDone> done = writer_.take()) {
    is_busy_ = false;
    left_ = done->left;
    on_added(*done);
    if (!done->status.ok()) {
      // All but what was to be added; that is answered.
      next_.remove.insert(next_.remove.end(), done->work.remove.begin(), done->work.remove.end());
      next_.set_aside.insert(next_.set_aside.end(), done->work.set_aside.begin(),
                             done->work.set_aside.end());
      if (done->status.error().message != last_failure_) {
        log_.error("cannot use the outbox; retrying", "reason", done->status.error().message);
      }
      last_failure_ = done->status.error().message;
      if (phase_ != Phase::kSending) try_again_later();
      continue;
    }
    last_failure_.clear();
    if (phase_ == Phase::kNumbering && !done->work.number.empty()) deliver();
    for (outbox::Entry& entry : done->loaded) page_.push_back(std::move(entry));
  }
}

void StoredSubmits::on_added(const outbox::WorkDone& done) {
  for (std::size_t i = 0; i < done.work.add.size(); ++i) {
    Adding adding = std::move(adding_.front());
    adding_.pop_front();
    adding_bytes_ -= done.work.add[i].body.size();
    if (i < done.added) {
      wire::Submitted stored;
      for (SubmitAnswer& answer : adding.answers) {
        stored.answers.push_back({.task_id = std::move(answer.task_id),
                                  .group = std::move(answer.group),
                                  .status = wire::SubmitStatus::kStored,
                                  .reason = std::move(answer.reason)});
      }
      adding.submit.done(wire::Message{std::move(stored)});
      continue;
    }
    // What was sent may have been taken, whatever came of storing it.
    const bool was_sent = adding.submit.number.sequence != 0;
    const bool is_full = done.room.error().code == ErrorCode::kLimit;
    adding.submit.done(Error{was_sent  ? ErrorCode::kTimeout
                             : is_full ? ErrorCode::kLimit
                                       : ErrorCode::kUnavailable,
                             adding.submit.why.message +
                                 ", and it could not be stored: " + done.room.error().message +
                                 (is_full && done.set_aside > 0 ? kMakeRoom : "")});
  }
}

void StoredSubmits::start_next() {
  const SteadyTime now = clock_.steady_now();
  const bool came = requests_.is_connected() && !was_connected_;
  was_connected_ = requests_.is_connected();
  // Others may have died while no tracker was there, and have left what is older than the page.
  if (came) next_.adopt = is_page_stale_ = true;
  if (was_connected_ && phase_ == Phase::kIdle && now >= retry_at_) {
    if (is_page_stale_ && alone_ == 0) {
      if (!is_busy_) read_page_again();
    } else if (!page_.empty()) {
      prepare_delivery();
    } else if (left_ > 0 && !is_busy_) {
      next_.load = true;
    }
  }
  requests_.hold(has_entries(), last_refusal_);
  end_flushes();
  if (is_busy_ || next_.empty()) return;
  is_busy_ = true;
  writer_.start(std::exchange(next_, {}));
}

void StoredSubmits::read_page_again() {
  is_page_stale_ = false;
  page_.clear();
  next_.load = left_ > 0;
}

bool StoredSubmits::is_same_message(const outbox::Entry& entry) const {
  const outbox::Entry& first = page_.front();
  return entry.id.slot == first.id.slot && entry.client == first.client &&
         entry.sequence == first.sequence;
}

void StoredSubmits::prepare_delivery() {
  const WallTime now = clock_.wall_now();
  outbox::Entry& first = page_.front();
  message_ = {};
  in_message_ = 0;
  jobs_in_entry_.clear();
  const bool is_numbered = first.sequence != 0;
  if (is_numbered && first.sent_at != WallTime{} && now - first.sent_at > kAnswerIsSafe) {
    in_message_ = 1;
    return set_aside("it was sent at " + format_time(first.sent_at) +
                     ", and no job tracker knows any more whether it was accepted (check whether "
                     "it runs before you submit it again)");
  }
  std::size_t bytes = 0;
  std::unordered_set<std::uint64_t> tasks;
  for (const outbox::Entry& entry : page_) {
    if (in_message_ > 0 && (!is_same_message(entry) || (alone_ > 0 && !is_numbered))) break;
    auto submit = stored_submit(entry.body);
    if (!submit.ok()) {
      if (in_message_ > 0) break;  // Its turn comes.
      in_message_ = 1;
      return set_aside("it cannot be read: " + submit.error().message);
    }
    std::vector<JobSpec>& jobs = submit.value().jobs;
    const bool fits = message_.jobs.size() + jobs.size() <= wire::kSubmitJobsMax &&
                      bytes + entry.body.size() <= kSubmitBytesAim &&
                      message_.suspended == submit.value().suspended;
    if (in_message_ > 0 && !fits) break;
    // Of one task each waits for the answer to the one before.
    bool is_of_the_same = false;
    for (const JobSpec& job : jobs) {
      const auto task = task_number(job);
      if (task && !tasks.insert(*task).second) is_of_the_same = true;
    }
    if (in_message_ > 0 && !is_numbered && is_of_the_same) break;
    message_.suspended = submit.value().suspended;
    bytes += entry.body.size();
    jobs_in_entry_.push_back(jobs.size());
    std::move(jobs.begin(), jobs.end(), std::back_inserter(message_.jobs));
    ++in_message_;
  }
  message_.request = is_numbered ? wire::RequestNumber{first.client, first.sequence}
                                 : wire::RequestNumber{client_, ++last_sequence_};
  for (std::size_t i = 0; i < in_message_; ++i) {
    page_[i].client = message_.request.client;
    page_[i].sequence = message_.request.sequence;
    // An answer is kept for so long after the first sending, if that one was taken.
    if (!is_numbered || page_[i].sent_at == WallTime{}) page_[i].sent_at = now;
    next_.number.push_back({.id = page_[i].id,
                            .client = message_.request.client,
                            .sequence = message_.request.sequence,
                            .sent_at = page_[i].sent_at});
  }
  phase_ = Phase::kNumbering;
}

void StoredSubmits::deliver() {
  phase_ = Phase::kSending;
  requests_.deliver(message_, [this](Result<wire::Message> answer) {
    phase_ = Phase::kIdle;
    on_answer(std::move(answer));
  });
}

void StoredSubmits::on_answer(Result<wire::Message> answer) {
  if (answer.ok()) {
    auto* submitted = std::get_if<wire::Submitted>(&answer.value());
    if (submitted != nullptr && submitted->answers.size() == message_.jobs.size()) {
      return on_answers(std::move(*submitted));
    }
    return on_refused({ErrorCode::kCorrupt, "the job tracker's answer does not fit it"});
  }
  switch (answer.error().code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kLimit:
    case ErrorCode::kDenied:
      last_refusal_ = without(kMaybeTaken, without(kAskFirst, answer.error().message));
      return try_again_later();
    default:
      return on_refused(answer.error());
  }
}

void StoredSubmits::on_answers(wire::Submitted&& submitted) {
  alone_ -= std::min(alone_, in_message_);
  std::size_t place = 0;
  for (const std::size_t jobs : jobs_in_entry_) {
    const outbox::EntryId id = page_.front().id;
    for (const std::size_t end = place + jobs; place < end; ++place) {
      std::string kept = kept_answer(submitted.answers[place]);
      const SubmitAnswer answer = from_wire(std::move(submitted.answers[place]));
      tell(answer);
      if (answer.status == SubmitStatus::kAccepted) continue;
      wire::Submit refused{.jobs = {std::move(message_.jobs[place])},
                           .suspended = message_.suspended};
      next_.set_aside.push_back({.id = id,
                                 .reason = answer.reason,
                                 .body = wire::encode({0, std::move(refused)}),
                                 .answer = std::move(kept)});
    }
    next_.remove.push_back(id);
    page_.pop_front();
  }
  in_message_ = 0;
}

// Nothing of it was done.
void StoredSubmits::on_refused(const Error& error) {
  if (in_message_ == 1) return set_aside(error.message);
  alone_ = in_message_;
  for (std::size_t i = 0; i < in_message_; ++i) page_[i].client = page_[i].sequence = 0;
}

// The entry at the front.
void StoredSubmits::set_aside(const std::string& reason) {
  const outbox::Entry& entry = page_.front();
  log_.error("cannot deliver a stored submission; it is set aside", "reason", reason);
  next_.set_aside.push_back({.id = entry.id, .reason = reason});
  for (const SubmitAnswer& refusal : refusals_of(entry.body, reason)) tell(refusal);
  alone_ -= std::min<std::size_t>(alone_, 1);
  page_.pop_front();
}

void StoredSubmits::try_again_later() {
  phase_ = Phase::kIdle;
  retry_at_ = clock_.steady_now() + kRetryAfter;
}

void StoredSubmits::tell(const SubmitAnswer& answer) {
  const bool is_accepted = answer.status == SubmitStatus::kAccepted;
  ++(is_accepted ? counted_.accepted : counted_.refused);
  last_refusal_.clear();
  const SteadyTime now = clock_.steady_now();
  for (Flush& flush : flushes_) flush.waits_since = now;
  if (on_delivered_) return on_delivered_(answer);
  if (is_accepted) return;
  log_.warn("a stored job was not accepted", "task", answer.task_id, "group", answer.group,
            "status", std::string_view{to_string(answer.status)}, "reason", answer.reason);
}

void StoredSubmits::flush(Duration connect, Duration answer, FlushDone done) {
  flushes_.push_back({.connect = std::min(connect, kLongestWait),
                      .answer = std::min(answer, kLongestWait),
                      .waits_since = clock_.steady_now(),
                      .before = counted_,
                      .done = std::move(done)});
}

SteadyTime StoredSubmits::ends_at(const Flush& flush) const {
  return flush.waits_since + (requests_.is_connected() ? flush.answer : flush.connect);
}

void StoredSubmits::end_flushes() {
  const SteadyTime now = clock_.steady_now();
  std::deque<Flush> open;
  for (Flush& flush : std::exchange(flushes_, {})) {
    const FlushAnswer answer{.accepted = counted_.accepted - flush.before.accepted,
                             .refused = counted_.refused - flush.before.refused};
    if (!has_entries()) {
      flush.done(answer);
    } else if (now >= ends_at(flush)) {
      flush.done(Error{ErrorCode::kUnavailable, requests_.away_error(flush.answer).message +
                                                    "; stored submissions that wait: " +
                                                    std::to_string(left_) + ", " + jobs_of_each()});
    } else {
      open.push_back(std::move(flush));
    }
  }
  flushes_ = std::move(open);
}

std::optional<SteadyTime> StoredSubmits::next_due() const {
  std::optional<SteadyTime> next;
  const auto consider = [&next](SteadyTime time) {
    if (!next || time < *next) next = time;
  };
  for (const Flush& flush : flushes_) consider(ends_at(flush));
  if (requests_.is_connected() && phase_ == Phase::kIdle && left_ > 0 && !is_busy_) {
    consider(retry_at_);
  }
  return next;
}

void StoredSubmits::close() {
  take_done();
  const Error closed{ErrorCode::kUnavailable, "the job client was closed before it was stored"};
  for (Adding& adding : std::exchange(adding_, {})) {
    const bool was_sent = adding.submit.number.sequence != 0;
    adding.submit.done(was_sent ? Error{ErrorCode::kTimeout, closed.message} : closed);
  }
  for (Flush& flush : std::exchange(flushes_, {})) flush.done(closed);
}

}  // namespace carillon
