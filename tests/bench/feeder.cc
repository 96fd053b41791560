#include "tests/bench/feeder.h"

#include <algorithm>
#include <utility>

#include "shared/wire/messages.h"
#include "tests/bench/history.h"
#include "tests/bench/statistics.h"

namespace carillon::bench {
namespace {

// As many as go out together: all of them are taken, or none.
constexpr std::int64_t kJobsOfACall = wire::kSubmitJobsMax;
// Of a steady rate: how often it submits. Short, so that jobs come evenly.
constexpr Duration kTick = std::chrono::milliseconds{2};
// Of one that keeps jobs waiting: how often it looks how many ended.
constexpr Duration kLook = std::chrono::milliseconds{5};
constexpr Duration kFeedPatience = std::chrono::seconds{60};
// How a job tracker's refusal begins; the client library speaks of itself.
constexpr std::string_view kTrackerSpeaks = "the job tracker";

Status check_answers(const Fed& fed) {
  const auto accepted = static_cast<std::int64_t>(fed.accepted.size());
  if (fed.offered == accepted + fed.refused + fed.turned_away) return {};
  return Error{ErrorCode::kCorrupt,
               "of " + std::to_string(fed.offered) + " jobs that were submitted, " +
                   std::to_string(accepted) + " were accepted, " + std::to_string(fed.refused) +
                   " refused and " + std::to_string(fed.turned_away) + " turned away"};
}

}  // namespace

Result<std::unique_ptr<Feeder>> Feeder::start(const Round& round, const Feed& feed) {
  std::unique_ptr<Feeder> feeder{new Feeder{round, feed}};
  for (int i = 0; i < feed.clients; ++i) {
    feeder->clients_.push_back(CARILLON_TRY(round.cluster.client()));
    CARILLON_TRY(feeder->clients_.back()->stats());  // Connected before the first job.
  }
  feeder->thread_ = CARILLON_TRY(Thread::start("feeder", [raw = feeder.get()] { raw->run(); }));
  return feeder;
}

Feeder::~Feeder() {
  stopping_ = true;
  if (thread_) thread_->join();
}

void Feeder::run() {
  if (feed_.rate > 0) return keep_rate();
  const Status kept = keep_ahead();
  if (kept.ok()) return;
  const MutexLock lock(mutex_);
  failed_ = kept;
}

Status Feeder::keep_ahead() {
  JobClient& client = *clients_.front();
  const std::int64_t ended_before = CARILLON_TRY(read_counter(client, "attempts_ended_total"));
  while (!stopping_) {
    const std::int64_t ended =
        CARILLON_TRY(read_counter(client, "attempts_ended_total")) - ended_before;
    const std::int64_t missing = feed_.ahead - (number_ - ended);
    for (std::int64_t i = 0; i < missing / kJobsOfACall; ++i) submit(kJobsOfACall);
    pause(kLook);
  }
  return {};
}

void Feeder::keep_rate() {
  const SteadyTime begin = clock_.steady_now();
  while (!stopping_) {
    const auto elapsed = std::chrono::duration_cast<Duration>(clock_.steady_now() - begin);
    const auto due = static_cast<std::int64_t>(feed_.rate * seconds(elapsed));
    // One that had no CPU for a while makes up for it, but not all at once.
    for (int i = 0; i < 10 && number_ < due; ++i) submit(std::min(due - number_, kJobsOfACall));
    pause(kTick);
  }
}

void Feeder::submit(std::int64_t jobs) {
  std::vector<JobSpec> specs;
  for (std::int64_t i = 0; i < jobs; ++i) specs.push_back(noop_job(feed_.groups, number_ + i));
  number_ += jobs;
  {
    const MutexLock lock(mutex_);
    fed_.offered += jobs;
    unanswered_ += jobs;
  }
  JobClient& client = *clients_[calls_++ % clients_.size()];
  client.submit_async(std::move(specs), [this, jobs](Result<std::vector<SubmitAnswer>> answers) {
    take(jobs, answers);
  });
}

void Feeder::take(std::int64_t jobs, const Result<std::vector<SubmitAnswer>>& answers) {
  const MutexLock lock(mutex_);
  unanswered_ -= jobs;
  if (!answers.ok()) {
    const Error& error = answers.error();
    if (error.code != ErrorCode::kLimit) {
      failed_ = error;
    } else if (error.message.starts_with(kTrackerSpeaks)) {
      fed_.refused += jobs;
    } else {
      fed_.turned_away += jobs;
    }
    return;
  }
  if (static_cast<std::int64_t>(answers.value().size()) != jobs) {
    failed_ = Error{ErrorCode::kCorrupt, std::to_string(jobs) + " jobs were given " +
                                             std::to_string(answers.value().size()) + " answers"};
  }
  for (const SubmitAnswer& answer : answers.value()) {
    if (answer.status == SubmitStatus::kAccepted) {
      fed_.accepted.push_back(answer.job_id);
    } else {
      failed_ = Error{ErrorCode::kCorrupt, "a job was not accepted: " + answer.reason};
    }
  }
}

std::int64_t Feeder::accepted_so_far() {
  const MutexLock lock(mutex_);
  return static_cast<std::int64_t>(fed_.accepted.size());
}

Result<Fed> Feeder::stop() {
  stopping_ = true;
  thread_->join();
  thread_ = nullptr;
  const SteadyTime end = clock_.steady_now() + kFeedPatience;
  while (clock_.steady_now() < end) {
    {
      const MutexLock lock(mutex_);
      CARILLON_TRY(failed_);
      if (unanswered_ == 0) {
        CARILLON_TRY(check_answers(fed_));
        return std::move(fed_);
      }
    }
    pause(kLook);
  }
  return Error{ErrorCode::kTimeout, "submissions were not answered"};
}

}  // namespace carillon::bench
