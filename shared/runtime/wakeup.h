#pragma once

#include <atomic>

#include "carillon/time.h"

namespace carillon {

// An eventfd: threads signal, one thread waits for it, alone or in its EventLoop. May wake for
// nothing; never misses a signal that came after the last clear().
class Wakeup {
 public:
  Wakeup();
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  void signal();  // any thread; a signal handler too
  bool clear();   // true: it was signalled
  void wait();    // blocks until signalled, and clears
  // The same, but no longer than this, nor than a minute. False: not signalled.
  bool wait_for(Duration longest);
  int fd() const { return fd_; }

 private:
  std::atomic<bool> pending_{false};
  int fd_;
};

}  // namespace carillon
