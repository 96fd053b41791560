#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "shared/runtime/scoped_task_runner.h"
#include "shared/runtime/task_runner.h"
#include "tests/support/manual_clock.h"

namespace carillon::testing {

// Runs work in virtual time: as soon as there is nothing to do now, the clock jumps to the next
// timer. Work of one moment runs in the order of posting.
//
// Thread: the test's.
class ManualTaskRunner final : public TaskRunner {
 public:
  explicit ManualTaskRunner(ManualClock& clock) : clock_(clock) {}

  void post(std::function<void()> work) override { post_at(clock_.steady_now(), std::move(work)); }
  TimerId post_at(SteadyTime when, std::function<void()> work) override {
    const Key key{std::max(when, clock_.steady_now()), ++last_};
    work_.emplace(key, std::move(work));
    time_of_[last_] = key.first;
    return last_;
  }
  void cancel(TimerId timer) override {
    const auto found = time_of_.find(timer);
    if (found == time_of_.end()) return;
    work_.erase({found->second, timer});
    time_of_.erase(found);
  }
  TimerId post_after(Duration wait, std::function<void()> work) {
    return post_at(clock_.steady_now() + wait, std::move(work));
  }

  // Runs the next work that is due by `limit`, at its own time. False: there is none, and the clock
  // stands at `limit`.
  bool run_one(SteadyTime limit) {
    if (work_.empty() || work_.begin()->first.first > limit) {
      move_clock(limit);
      return false;
    }
    auto next = work_.extract(work_.begin());
    time_of_.erase(next.key().second);
    move_clock(next.key().first);
    next.mapped()();
    return true;
  }

 private:
  using Key = std::pair<SteadyTime, TimerId>;

  void move_clock(SteadyTime to) {
    const auto by = std::chrono::ceil<Duration>(to - clock_.steady_now());
    if (by > Duration{}) clock_.advance(by);
  }

  ManualClock& clock_;
  TimerId last_ = 0;
  std::map<Key, std::function<void()>> work_;
  std::unordered_map<TimerId, SteadyTime> time_of_;
};

}  // namespace carillon::testing
