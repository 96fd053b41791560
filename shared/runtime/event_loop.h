#pragma once

#include <functional>
#include <memory>

#include "shared/base/clock.h"
#include "shared/runtime/executor.h"

namespace carillon {

// One thread's loop: file descriptors (epoll), timers (a timerfd, so that they are tens of
// microseconds late at most, not a millisecond) and posted work.
//
// A turn: ready descriptors, then due timers, then posted work, then the end-of-turn hooks in the
// order they were added (that is where batches are made and flushed).
//
// Thread: run() and everything else on one thread, except stop() and wake(), which any thread and
// a signal handler may call.
class EventLoop final : public Executor {
 public:
  explicit EventLoop(const Clock& clock);
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  void post(std::function<void()> work) override;
  TimerId post_at(SteadyTime when, std::function<void()> work) override;
  void cancel(TimerId timer) override;

  // Calls on_readable whenever fd can be read, until unwatch(fd). Level-triggered.
  void watch(int fd, std::function<void()> on_readable);
  void unwatch(int fd);

  // Called at the end of every turn; true asks for another turn before waiting. Not from a hook.
  void at_end_of_turn(std::function<bool()> hook);

  // Until stop(); one that came before is not lost. May be called again.
  void run();
  // One turn, waiting at most so long; for a library that has no thread of its own.
  void run_once(Duration wait_max);
  void stop();
  void wake();

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace carillon
