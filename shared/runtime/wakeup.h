#pragma once

#include <atomic>

#include "carillon/time.h"

namespace carillon {

// An eventfd: threads signal, one thread waits, alone or in its EventLoop. It may wake without a
// signal, but never misses a signal after the last clear().
class Wakeup {
 public:
  Wakeup();
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  void signal();  // any thread, or a signal handler
  bool clear();   // true: it was signalled
  void wait();    // blocks until signalled, and clears
  // The same with a time limit of at most a minute. False: not signalled.
  bool wait_for(Duration longest);
  int fd() const { return fd_; }

 private:
  std::atomic<bool> pending_{false};
  int fd_;
};

}  // namespace carillon
