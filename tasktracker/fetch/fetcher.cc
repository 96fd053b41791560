#include "tasktracker/fetch/fetcher.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "shared/job/bucket.h"
#include "tasktracker/attempt_hash.h"

namespace carillon::tasktracker {
namespace {

constexpr double kMeanShare = 1.0 / 16;  // share of the newest run in the mean

// After this number of short runs in a row, no long one is expected among prefetched jobs.
constexpr int kManyShort = 4096;
constexpr std::size_t kOthersMax = 4;  // more than start and end within a lease

}  // namespace

Fetcher::Fetcher(FetcherConfig config)
    : config_(std::move(config)),
      register_again_(config_.register_again),
      holdings_(std::make_shared<Holdings>()) {}

Fetcher::Fetcher(FetcherConfig config, const Fetcher& other)
    : config_(std::move(config)),
      taking_(other.taking_),
      draining_(other.draining_),
      overload_(other.overload_),
      register_again_(config_.register_again),
      holdings_(other.holdings_) {}

void Fetcher::on_connected() { state_ = State::kMustRegister; }

void Fetcher::on_disconnected() { state_ = State::kDisconnected; }

void Fetcher::on_registered(const wire::Registered& registered, SteadyTime now) {
  if (state_ != State::kRegistering) return;
  state_ = State::kRegistered;
  said_bye_at_ = {};
  refusals_ = 0;
  register_again_ = config_.register_again;
  lease_from_ = registered_at_;
  lease_ = std::max<Duration>(registered.lease, std::chrono::milliseconds{10});
  pull_interval_ =
      std::clamp<Duration>(registered.pull_interval, std::chrono::milliseconds{1}, lease_);
  if (registered.tracker_session != tracker_session_) {
    // It counts its hand-outs from 1 again, and has answered no pull.
    handout_seen_ = other_seen(registered.tracker_session);
    answered_ = 0;
    credit_ = 0;
    older_credit_ = 0;
  }
  tracker_session_ = registered.tracker_session;
  older_credit_ = std::max(older_credit_, std::exchange(credit_, 0));
  // They may be lost. It is unknown whether they were answered: this may be the late answer to an
  // earlier registration, with a hand-out on its way for a pull before them.
  given_up_ = pull_number_;
  pull_now_ = true;
  holding_at_ = now;  // Jobs that were rejected since the registration are not held.
}

void Fetcher::on_pulled(const wire::Pulled& pulled, SteadyTime now) {
  if (pulled.number <= answered_ || pulled.number > pull_number_) return;
  answered_ = pulled.number;
  if (answered_ == pull_number_) older_credit_ = 0;
  forget_old_pulls(now);
  for (const SentPull& sent : pulls_) {
    if (sent.number == pulled.number) lease_from_ = sent.at;
  }
}

void Fetcher::on_unknown_session() {
  if (state_ != State::kRegistered) return;
  state_ = State::kMustRegister;
  ++counts_.sessions_unknown;
}

void Fetcher::on_refused(SteadyTime now) {
  if (state_ != State::kRegistering) return;
  state_ = State::kRefused;
  registered_at_ = now;
  ++refusals_;
}

Result<SteadyTime> Fetcher::on_hand_out(wire::HandOut& hand_out, SteadyTime now) {
  if (hand_out.tracker_session != tracker_session_) {
    // It does not show the other session's credit either. Unless it is late, that session accepted
    // a registration whose answer was lost.
    if (now > registered_at_ + lease_) on_unknown_session();
    note_other(hand_out.tracker_session, hand_out.number);
    counts_.refused += hand_out.jobs.size();
    hand_out.jobs.clear();
    return Error{ErrorCode::kConflict, "it belongs to another session of the job tracker"};
  }
  if (hand_out.number <= handout_seen_) {
    counts_.duplicates += hand_out.jobs.size();
    hand_out.jobs.clear();
    return Error{ErrorCode::kConflict, "it arrived twice"};
  }
  handout_seen_ = hand_out.number;
  if (state_ != State::kRegistered) {
    counts_.refused += hand_out.jobs.size();
    hand_out.jobs.clear();
    return Error{ErrorCode::kConflict, "it crossed a registration"};
  }
  credit_ = std::max(0, credit_ - static_cast<int>(hand_out.jobs.size()));
  older_credit_ = std::max(0, older_credit_ - static_cast<int>(hand_out.jobs.size()));
  if (credit_ == 0) used_up_at_ = now;
  forget_old_pulls(now);
  const auto answered = std::find_if(pulls_.begin(), pulls_.end(), [&](const SentPull& sent) {
    return sent.number == hand_out.pull;
  });
  if (answered == pulls_.end()) {
    on_others_hand_out(hand_out.jobs.size(), now);
    hand_out.jobs.clear();
    return Error{ErrorCode::kTimeout, "it answers a pull older than the lease"};
  }
  std::erase_if(hand_out.jobs, [this](const wire::HandedJob& job) {
    const bool is_new =
        holdings_->jobs.emplace(job.id, Holdings::Job{.bucket = carillon::bucket_of(job.task_id)})
            .second;
    if (is_new) {
      ++holdings_->unfinished;
      ++counts_.handed;
    } else {
      ++counts_.duplicates;
    }
    return !is_new;
  });
  return answered->at + lease_;
}

void Fetcher::note_other(std::int64_t session, std::int64_t hand_out) {
  const std::int64_t newest = std::max(other_seen(session), hand_out);
  std::erase_if(others_, [&](const OtherSession& other) { return other.session == session; });
  others_.push_back({session, newest});
  if (others_.size() > kOthersMax) others_.pop_front();
}

std::int64_t Fetcher::other_seen(std::int64_t session) const {
  const auto found = std::find_if(others_.begin(), others_.end(), [&](const OtherSession& other) {
    return other.session == session;
  });
  return found == others_.end() ? 0 : found->handout_seen;
}

// The next pull reports that they are not held.
void Fetcher::on_others_hand_out(std::size_t jobs, SteadyTime now) {
  counts_.refused += jobs;
  holding_at_ = now;
  pull_now_ = true;
}

int Fetcher::bucket_of(const wire::AttemptId& id) const {
  const auto found = holdings_->jobs.find(id);
  return found == holdings_->jobs.end() ? -1 : found->second.bucket;
}

std::vector<wire::AttemptId> Fetcher::unfinished_of(
    const std::function<bool(int bucket)>& is_such) const {
  std::vector<wire::AttemptId> ids;
  for (const auto& [id, job] : holdings_->jobs) {
    if (!job.is_finished && is_such(job.bucket)) ids.push_back(id);
  }
  return ids;
}

void Fetcher::on_finished(const wire::AttemptId& id, Duration run_time) {
  const auto found = holdings_->jobs.find(id);
  if (found == holdings_->jobs.end() || found->second.is_finished) return;
  found->second.is_finished = true;
  --holdings_->unfinished;
  // Runs of less than a microsecond count as one.
  const auto micros = static_cast<double>(std::max<std::int64_t>(run_time.count(), 1));
  double& mean = holdings_->mean_run_us;
  mean = mean == 0 ? micros : mean + (micros - mean) * kMeanShare;
  int& short_runs = holdings_->short_runs;
  short_runs = run_time < config_.prefetch_work ? std::min(short_runs + 1, kManyShort) : 0;
}

void Fetcher::on_confirmed(const wire::AttemptId& id) {
  const auto found = holdings_->jobs.find(id);
  // A job tracker may confirm a job that ended otherwise; a running one is still held.
  if (found != holdings_->jobs.end() && found->second.is_finished) holdings_->jobs.erase(found);
}

void Fetcher::on_given_back(const std::vector<wire::AttemptId>& ids) {
  for (const wire::AttemptId& id : ids) {
    const auto found = holdings_->jobs.find(id);
    if (found == holdings_->jobs.end() || found->second.is_finished) continue;
    holdings_->jobs.erase(found);
    --holdings_->unfinished;
  }
  // A run took longer than earlier ones: nothing is prefetched until that changes.
  const auto long_run = static_cast<double>(config_.prefetch_work.count() * config_.threads + 1);
  holdings_->mean_run_us = std::max(holdings_->mean_run_us, long_run);
  holdings_->short_runs = 0;
  pull_now_ = true;
}

void Fetcher::set_taking(bool taking, const std::string& overload) {
  if (taking_ != taking || overload_ != overload) pull_now_ = true;
  taking_ = taking;
  overload_ = overload;
}

void Fetcher::drain() {
  taking_ = false;
  draining_ = true;
  pull_now_ = true;
}

bool Fetcher::has_lease(SteadyTime now) const { return lease_from_ && now < lease_end(); }

int Fetcher::prefetch() const {
  if (holdings_->mean_run_us == 0) return 0;
  const double jobs =
      config_.threads * static_cast<double>(config_.prefetch_work.count()) / holdings_->mean_run_us;
  const bool many_short = holdings_->short_runs == kManyShort;
  return static_cast<int>(
      std::min<double>(jobs, many_short ? config_.prefetch_max_short : config_.prefetch_max));
}

int Fetcher::window() const {
  return taking_ ? std::max(0, std::min(room(), share_.value_or(room()))) : 0;
}

SteadyTime Fetcher::refused_until() const {
  const bool is_soon = refusals_ <= config_.refused_soon_tries;
  return registered_at_ + (is_soon ? config_.refused_soon : config_.refused_again);
}

bool Fetcher::must_register(SteadyTime now) const {
  switch (state_) {
    case State::kDisconnected:
      return false;
    case State::kMustRegister:
      return true;
    case State::kRegistering:
      return now >= registered_at_ + register_again_;
    case State::kRefused:
      return now >= refused_until();
    case State::kRegistered:
      // Connected, but without an answer for a whole lease: the job tracker stalled, or does not
      // know the session.
      return lease_from_ && awaits_answer() && !has_lease(now) &&
             now >= registered_at_ + config_.register_again;
  }
  return false;
}

// Whether to report the new window before the next regular pull.
bool Fetcher::is_worth_a_pull() const {
  const int wanted = window();
  const int capacity = config_.threads + prefetch();
  if (wanted > credit_) {
    // An idle thread is urgent. While the queue serves all threads, a quarter is soon enough.
    return unfinished() < config_.threads || wanted - credit_ >= std::max(1, capacity / 4);
  }
  // Another job tracker waits for the unused share.
  if (share_ && wanted < credit_) return wanted == 0 || credit_ - wanted >= capacity / 4;
  return credit_ - wanted > config_.threads + prefetch() / 4;
}

bool Fetcher::must_pull(SteadyTime now) const {
  if (state_ != State::kRegistered) return false;
  if (pull_now_ || now >= pulled_at_ + pull_interval_) return true;
  // One early pull at a time, to spare a slow job tracker.
  if (awaits_answer() && now < pulled_at_ + config_.answer_wait) return false;
  return is_worth_a_pull();
}

bool Fetcher::must_say_bye(SteadyTime now) const {
  return state_ == State::kRegistered && now >= said_bye_at_ + config_.bye_again;
}

std::optional<SteadyTime> Fetcher::next_time() const {
  if (leave_ == Leave::kGone) return std::nullopt;
  switch (state_) {
    case State::kDisconnected:
      return std::nullopt;
    case State::kMustRegister:
      return SteadyTime{};
    case State::kRegistering:
      return registered_at_ + register_again_;
    case State::kRefused:
      return refused_until();
    case State::kRegistered:
      break;
  }
  if (is_leaving()) return said_bye_at_ + config_.bye_again;
  if (pull_now_) return SteadyTime{};
  SteadyTime next = pulled_at_ + pull_interval_;
  if (awaits_answer()) {
    if (is_worth_a_pull()) next = std::min<SteadyTime>(next, pulled_at_ + config_.answer_wait);
  }
  return next;
}

std::vector<wire::Held> Fetcher::everything_held(
    const std::vector<wire::AttemptId>& waiting) const {
  const std::unordered_set<wire::AttemptId, AttemptHash> not_started(waiting.begin(),
                                                                     waiting.end());
  std::vector<wire::Held> all;
  all.reserve(held());
  for (const auto& [id, job] : holdings_->jobs) {
    all.push_back({.id = id, .started = job.is_finished || !not_started.contains(id)});
  }
  std::sort(all.begin(), all.end(),
            [](const wire::Held& one, const wire::Held& other) { return one.id < other.id; });
  return all;
}

wire::Register Fetcher::make_register(SteadyTime now, const std::vector<wire::AttemptId>& waiting) {
  register_again_ = state_ == State::kRegistering
                        ? std::min(2 * register_again_, config_.register_again_max)
                        : config_.register_again;
  state_ = State::kRegistering;
  registered_at_ = now;
  return {.session = config_.session,
          .name = config_.name,
          .group = config_.group,
          .threads = config_.threads,
          .labels = config_.labels,
          .allow = config_.allow,
          .version = config_.version,
          .holding = everything_held(waiting),
          .address = config_.address,
          .number = ++holdings_->registers,
          .waits = true,
          .pulls = holdings_->pulls};
}

wire::Pull Fetcher::make_pull(SteadyTime now, std::optional<std::vector<wire::AttemptId>> waiting) {
  forget_old_pulls(now);
  pull_now_ = false;
  pulled_at_ = now;
  older_credit_ = std::max(older_credit_, credit_);
  credit_ = window();
  pull_number_ = ++holdings_->pulls;
  pulls_.push_back({.number = pull_number_, .at = now});
  ++counts_.pulls;
  wire::Pull pull{.session = config_.session,
                  .number = pull_number_,
                  .handout_seen = handout_seen_,
                  .answered = answered_,
                  .window = credit_,
                  .overload = overload_,
                  .draining = draining_};
  if (waiting) {
    holding_at_ = now + config_.holding_interval;
    pull.holding = everything_held(*waiting);
  }
  return pull;
}

wire::Bye Fetcher::make_bye(SteadyTime now) {
  said_bye_at_ = now;
  return {.session = config_.session, .group = config_.group};
}

void Fetcher::forget_old_pulls(SteadyTime now) {
  while (!pulls_.empty() && now >= pulls_.front().at + lease_) pulls_.pop_front();
}

}  // namespace carillon::tasktracker
