#include "jobtracker/dispatch/deadlines.h"

#include <algorithm>
#include <iterator>

namespace carillon::jobtracker {
namespace {

constexpr std::size_t kLookedUpMax = 100;
constexpr Duration kAgain = std::chrono::seconds{1};

}  // namespace

Deadlines::Deadlines(DeadlinesConfig config, Catalog& catalog, ExecutingTable& executing,
                     Batcher& batcher, Questions& questions, SchedulingClock& clock,
                     TaskRunner& task_runner, AdmissionPolicy& admission, const Logger& log)
    : config_(config),
      catalog_(catalog),
      executing_(executing),
      batcher_(batcher),
      questions_(questions),
      clock_(clock),
      task_runner_(task_runner),
      admission_(admission),
      log_(log) {}

void Deadlines::open_group(GroupId group) {
  groups_.insert(group);
  to_go_through_.push_back(group);
  go_through();
}

void Deadlines::offer(const WaitingJob& job, const wire::SpecGlance& glance) {
  const auto end = end_of(job, glance);
  if (end && looked_up_.count(job.id) == 0) keep(job.id, {.at = *end, .group = job.group});
}

std::optional<WallTime> Deadlines::end_of(const WaitingJob& job,
                                          const wire::SpecGlance& glance) const {
  if (was_tried(job)) return std::nullopt;
  if (admission_.is_missed(job)) return job.trigger_time;
  if (glance.start_deadline <= Duration{}) return std::nullopt;
  return job.trigger_time + glance.start_deadline;
}

void Deadlines::keep(JobId id, const Place& place) {
  if (bound_ && place.at >= *bound_) return drop(id);
  if (const auto before = places_.find(id); before != places_.end()) {
    order_.erase({before->second.at, id});
  }
  places_[id] = place;
  order_.emplace(place.at, id);
  if (order_.size() > config_.capacity) {
    bound_ = order_.rbegin()->first;
    places_.erase(order_.rbegin()->second);
    order_.erase(std::prev(order_.end()));
  }
  set_timer();
}

void Deadlines::forget(JobId id) {
  looked_up_.erase(id);
  drop(id);
}

void Deadlines::drop(JobId id) {
  const auto found = places_.find(id);
  if (found == places_.end()) return;
  order_.erase({found->second.at, id});
  places_.erase(found);
  refill_if_low();
}

void Deadlines::clock_was_set() {
  if (timer_ != 0) task_runner_.cancel(std::exchange(timer_, 0));
  set_timer();
}

void Deadlines::set_timer() {
  if (order_.empty() || looked_up_.size() >= kLookedUpMax) return;  // The answers call it again.
  const WallTime at = order_.begin()->first;
  if (timer_ != 0 && timer_at_ <= at) return;
  if (timer_ != 0) task_runner_.cancel(timer_);
  timer_at_ = at;
  timer_ = task_runner_.post_at(clock_.steady_at(at), [this] {
    timer_ = 0;
    look_at_due();
  });
}

void Deadlines::look_at_due() {
  const WallTime now = clock_.now();
  while (!order_.empty() && order_.begin()->first <= now && looked_up_.size() < kLookedUpMax) {
    const JobId id = order_.begin()->second;
    const Place place = places_.at(id);
    drop(id);
    if (executing_.find(id) != nullptr) continue;
    looked_up_.insert(id);
    batcher_.ask(Find{.group = place.group, .job_id = id},
                 [this, id, place](Result<ReadAnswer> answer) {
                   const bool is_wanted = looked_up_.erase(id) > 0;
                   if (is_wanted) take_found(id, place, std::move(answer));
                   look_at_due();
                 });
  }
  set_timer();
}

void Deadlines::take_found(JobId id, const Place& place, Result<ReadAnswer> answer) {
  const WallTime now = clock_.now();
  if (!answer.ok()) {
    log_.error("cannot read a job whose start deadline has passed; retrying", "job", id.value,
               "error", answer.error().message);
    return keep(id, {.at = now + kAgain, .group = place.group});
  }
  auto& found = std::get<FindAnswer>(answer.value());
  if (!found.waiting || found.waiting->delayed) return;
  if (executing_.find(id) != nullptr) return;  // It has just been claimed.
  const auto glance = catalog_.glance(*found.waiting);
  const auto end = glance ? end_of(*found.waiting, *glance) : std::nullopt;
  if (!end) return;
  if (*end > now) return keep(id, {.at = *end, .group = place.group});
  if (!admission_.expire(std::move(*found.waiting)))
    keep(id, {.at = now + kAgain, .group = place.group});
}

void Deadlines::refill_if_low() {
  if (!bound_ || is_going_through_ || order_.size() > config_.capacity / 5) return;
  bound_.reset();
  to_go_through_.assign(groups_.begin(), groups_.end());
  gone_through_.reset();
  go_through();
}

void Deadlines::go_through() {
  if (is_going_through_ || to_go_through_.empty()) return;
  is_going_through_ = true;
  const ListWaiting question{
      .group = to_go_through_.front(), .after = gone_through_, .limit = rows_at_once_};
  questions_.ask(question, [this, question](Result<ReadAnswer> answer) {
    Duration wait = kAgain;
    if (!answer.ok()) {
      log_.warn("cannot read start deadlines; retrying", "error", answer.error().message);
    } else {
      const bool has_more = take_page(question, std::get<JobsAnswer>(answer.value()).jobs);
      wait = has_more ? config_.pause : Duration{};
    }
    task_runner_.post_at(clock_.steady_now() + wait, [this] {
      is_going_through_ = false;
      go_through();
      refill_if_low();
    });
  });
}

bool Deadlines::take_page(const ListWaiting& question, const std::vector<WaitingJob>& jobs) {
  std::int64_t bytes = 0;
  for (const WaitingJob& job : jobs) {
    bytes += static_cast<std::int64_t>(job.spec.size()) + 200;
    if (const auto glance = catalog_.glance(job)) offer(job, *glance);
  }
  if (static_cast<std::int64_t>(jobs.size()) < question.limit) {
    to_go_through_.pop_front();
    gone_through_.reset();
    return false;
  }
  rows_at_once_ = std::clamp<std::int64_t>(config_.bytes * question.limit / bytes, 8, config_.rows);
  gone_through_ = hand_out_key(jobs.back());
  return true;
}

}  // namespace carillon::jobtracker
