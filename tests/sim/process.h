#pragma once

#include <deque>
#include <string>
#include <utility>

#include "shared/base/clock.h"
#include "shared/runtime/task_runner.h"
#include "tests/sim/timeline.h"

namespace carillon::sim {

// A program on a machine of its own: it can be killed and started again, stopped and continued as
// by SIGSTOP, and its machine's wall clock can be set. What it has posted dies with it, and waits
// while it is stopped.
//
// Thread: the simulation's.
class Process : public Clock, public TaskRunner {
 public:
  Process(Timeline& timeline, std::string name) : timeline_(timeline), name_(std::move(name)) {}
  ~Process() override = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const std::string& name() const { return name_; }
  bool is_alive() const { return is_alive_; }
  bool is_paused() const { return timeline_.now() < paused_until_; }
  // Stood still or had its clock set since then.
  bool was_paused_since(SteadyTime when) const { return paused_until_ >= when; }
  bool was_set_since(SteadyTime when) const { return set_at_ >= when; }
  Duration ahead() const { return ahead_; }

  // SIGSTOP now, and SIGCONT after that time.
  void pause(Duration time);
  // Its wall clock goes so far ahead of, or behind, true time.
  void set_clock(Duration ahead);

  // Does work that comes from outside: at once, or when it is continued, or never if it dies first.
  void run(std::function<void()> work);

  WallTime wall_now() const override;
  SteadyTime steady_now() const override { return timeline_.now(); }
  void post(std::function<void()> work) override { post_at(timeline_.now(), std::move(work)); }
  TimerId post_at(SteadyTime when, std::function<void()> work) override;
  void cancel(TimerId timer) override;

 protected:
  void begin_life();
  void end_life();
  // After each piece of work.
  virtual void end_turn() = 0;

  Timeline& timeline_;

 private:
  struct Missed {
    TimerId timer = 0;
    std::function<void()> work{};
  };

  void go_on();

  const std::string name_;
  bool is_alive_ = false;
  std::uint64_t life_ = 0;
  SteadyTime paused_until_{};
  std::deque<Missed> missed_;  // while it was paused
  Duration ahead_{};
  SteadyTime set_at_{};
};

}  // namespace carillon::sim
