#include "tests/sim/process.h"

#include <utility>

namespace carillon::sim {

WallTime Process::wall_now() const { return timeline_.wall_now() + ahead_; }

TimerId Process::post_at(SteadyTime when, std::function<void()> work) {
  return timeline_.at(when, [this, life = life_, work = std::move(work)]() mutable {
    if (life == life_) run(std::move(work));
  });
}

void Process::run(std::function<void()> work) {
  if (!is_alive_) return;
  if (is_paused() || !missed_.empty()) {
    missed_.push_back({.timer = timeline_.current(), .work = std::move(work)});
    return;
  }
  const std::uint64_t life = life_;
  work();
  if (life == life_ && is_alive_) end_turn();
}

void Process::pause(Duration time) {
  if (!is_alive_) return;
  paused_until_ = timeline_.now() + time;
  timeline_.at(paused_until_, [this, life = life_] {
    if (life == life_) go_on();
  });
}

// What was missed may be cancelled by what is done before it.
void Process::cancel(TimerId timer) {
  timeline_.cancel(timer);
  for (Missed& missed : missed_) {
    if (missed.timer == timer) missed.work = nullptr;
  }
}

void Process::go_on() {
  const std::uint64_t life = life_;
  while (life == life_ && !is_paused() && !missed_.empty()) {
    const std::function<void()> work = std::move(missed_.front().work);
    missed_.pop_front();
    if (!work) continue;
    work();
    if (life == life_ && is_alive_) end_turn();
  }
}

void Process::set_clock(Duration ahead) {
  ahead_ = ahead;
  set_at_ = timeline_.now();
}

void Process::begin_life() {
  is_alive_ = true;
  ++life_;
}

void Process::end_life() {
  is_alive_ = false;
  ++life_;
  missed_.clear();
  paused_until_ = {};
}

}  // namespace carillon::sim
