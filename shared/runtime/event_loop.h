#pragma once

#include <functional>
#include <memory>

#include "shared/base/clock.h"
#include "shared/runtime/task_runner.h"

namespace carillon {

// The event loop of a thread: file descriptors (epoll), timers (a timerfd, so that they are at most
// tens of microseconds late, not a millisecond) and posted work.
//
// A turn: ready descriptors, then due timers, then posted work, then the end-of-turn hooks in the
// order in which they were added (these build and flush batches).
//
// Thread: one thread for run() and all other functions, except stop() and wake(), which any thread
// or signal handler may call.
class EventLoop final : public TaskRunner {
 public:
  explicit EventLoop(const Clock& clock);
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  void post(std::function<void()> work) override;
  TimerId post_at(SteadyTime when, std::function<void()> work) override;
  void cancel(TimerId timer) override;

  // Calls on_readable whenever fd is readable, until unwatch(fd). Level-triggered.
  void watch(int fd, std::function<void()> on_readable);
  void unwatch(int fd);

  // Called at the end of each turn; true requests another turn before waiting. Do not call it from
  // a hook.
  void at_end_of_turn(std::function<bool()> hook);

  // Runs until stop(); an earlier stop() counts. May be called again.
  void run();
  // One turn with a limited wait; for a library without its own thread.
  void run_once(Duration wait_max);
  void stop();
  void wake();

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace carillon
