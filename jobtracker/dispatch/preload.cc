#include "jobtracker/dispatch/preload.h"

#include <algorithm>
#include <utility>

namespace carillon::jobtracker {
namespace {

// Precedes all jobs: nothing was read from the table.
const HandOutKey kBeforeAll{INT_MIN, WallTime::min(), JobId{0}};

}  // namespace

Preload::Preload(PreloadConfig config, WallTime now)
    : config_(config), due_bound_(kBeforeAll), upcoming_bound_(DueKey{now, JobId{INT64_MAX}}) {
  CARILLON_ASSERT(config_.capacity >= 5, "a smaller capacity could never be refilled");
}

void Preload::offer(WaitingJob job, WallTime now) {
  if (places_.count(job.id) != 0) return;
  if (due_time(job) <= now) {
    offer_due(std::move(job));
  } else {
    offer_upcoming(std::move(job));
  }
}

void Preload::offer_due(WaitingJob job) {
  const HandOutKey key = hand_out_key(job);
  if (due_bound_ && key > *due_bound_) {
    due_left_out_ = due_left_out_ ? std::min(*due_left_out_, key) : key;
    return;
  }
  due_bytes_ += bytes_of(job);
  remember(job, {.is_due = true, .due = key});
  due_.emplace(key, std::move(job));
  while (due_.size() > config_.capacity || (due_bytes_ > config_.bytes_max && due_.size() > 1)) {
    const auto worst = std::prev(due_.end());
    due_bytes_ -= bytes_of(worst->second);
    let_go(worst->second);
    due_.erase(worst);
    due_bound_ = std::prev(due_.end())->first;
  }
}

void Preload::offer_upcoming(WaitingJob job) {
  const DueKey key = due_key(job);
  if (upcoming_bound_ && key > *upcoming_bound_) return;
  upcoming_bytes_ += bytes_of(job);
  remember(job, {.is_due = false, .upcoming = key});
  starts_.insert(start_key(job));
  upcoming_.emplace(key, std::move(job));
  while (upcoming_.size() > config_.capacity ||
         (upcoming_bytes_ > config_.bytes_max && upcoming_.size() > 1)) {
    take_upcoming(std::prev(upcoming_.end()));
    upcoming_bound_ = std::prev(upcoming_.end())->first;
  }
}

void Preload::forget(JobId id) {
  const auto found = places_.find(id);
  if (found == places_.end()) return;
  if (found->second.is_due) {
    const auto place = due_.find(found->second.due);
    due_bytes_ -= bytes_of(place->second);
    let_go(place->second);
    due_.erase(place);
  } else {
    take_upcoming(upcoming_.find(found->second.upcoming));
  }
}

void Preload::forget_definition(DefinitionId id) {
  auto next = of_definitions_.lower_bound({id, JobId{INT64_MIN}});
  while (next != of_definitions_.end() && next->first == id) forget((next++)->second);
}

void Preload::forget_fires(DefinitionId id) {
  auto next = of_definitions_.lower_bound({id, JobId{INT64_MIN}});
  while (next != of_definitions_.end() && next->first == id) {
    const JobId job = (next++)->second;
    const Place& place = places_.at(job);
    if (is_fire(place.is_due ? due_.at(place.due) : upcoming_.at(place.upcoming))) forget(job);
  }
}

void Preload::remember(const WaitingJob& job, const Place& place) {
  places_[job.id] = place;
  if (job.definition) of_definitions_.emplace(job.definition, job.id);
}

void Preload::let_go(const WaitingJob& job) {
  places_.erase(job.id);
  if (job.definition) of_definitions_.erase({job.definition, job.id});
}

void Preload::advance(WallTime now) {
  while (!upcoming_.empty() && upcoming_.begin()->first.first <= now)
    offer_due(take_upcoming(upcoming_.begin()));
}

WaitingJob Preload::take_best() {
  CARILLON_ASSERT(!due_.empty(), "the caller checked that a job is there");
  const auto first = due_.begin();
  due_bytes_ -= bytes_of(first->second);
  WaitingJob job = std::move(first->second);
  due_.erase(first);
  let_go(job);
  return job;
}

const WaitingJob* Preload::soonest() const {
  if (starts_.empty() || is_cut()) return nullptr;
  const auto& [due, priority, id] = *starts_.begin();
  return &upcoming_.at({due, id});
}

WaitingJob Preload::take_soonest() {
  CARILLON_ASSERT(!starts_.empty(), "the caller checked that a job is there");
  const auto& [due, priority, id] = *starts_.begin();
  return take_upcoming(upcoming_.find({due, id}));
}

WaitingJob Preload::take_upcoming(std::map<DueKey, WaitingJob>::iterator place) {
  upcoming_bytes_ -= bytes_of(place->second);
  WaitingJob job = std::move(place->second);
  upcoming_.erase(place);
  starts_.erase(start_key(job));
  let_go(job);
  return job;
}

std::optional<WallTime> Preload::next_due_time() const {
  if (upcoming_.empty()) return std::nullopt;
  return upcoming_.begin()->first.first;
}

std::optional<HandOutKey> Preload::ask_due() {
  due_asked_ = true;
  due_left_out_.reset();
  due_asked_after_ = due_bound_;
  if (*due_bound_ == kBeforeAll) return std::nullopt;
  return due_bound_;
}

void Preload::due_loaded(std::vector<WaitingJob> jobs, std::optional<HandOutKey> through,
                         WallTime now) {
  due_asked_ = false;
  // A better job evicted the worst ones meanwhile, so rows between are missing. Read again.
  if (due_bound_ != due_asked_after_) return;
  if (due_left_out_ && (!through || *due_left_out_ <= *through)) {
    // It became due after the read was sent, so the answer may lack it: rows after it are dropped.
    std::erase_if(jobs,
                  [this](const WaitingJob& job) { return hand_out_key(job) >= *due_left_out_; });
    if (!jobs.empty()) due_bound_ = std::max(*due_bound_, hand_out_key(jobs.back()));
  } else {
    due_bound_ = through;
  }
  for (WaitingJob& job : jobs) offer(std::move(job), now);
}

DueKey Preload::ask_upcoming() {
  upcoming_asked_ = true;
  upcoming_asked_after_ = upcoming_bound_;
  return *upcoming_bound_;
}

void Preload::upcoming_loaded(std::vector<WaitingJob> jobs, std::optional<DueKey> through,
                              WallTime now) {
  upcoming_asked_ = false;
  if (upcoming_bound_ != upcoming_asked_after_) return;
  upcoming_bound_ = through;
  for (WaitingJob& job : jobs) offer(std::move(job), now);
}

}  // namespace carillon::jobtracker
