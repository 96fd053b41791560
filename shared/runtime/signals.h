#pragma once

#include <csignal>
#include <functional>
#include <memory>

#include "carillon/result.h"
#include "shared/runtime/event_loop.h"

namespace carillon {

// SIGTERM, SIGINT and SIGHUP as callbacks on an event loop; SIGPIPE is ignored. The signals are
// blocked in the thread that opens it and in threads that start later, so open it before any
// thread, and call block() first in main. A child process inherits the blocking: set its mask
// before exec.
//
// Thread: the loop's.
class Signals {
 public:
  // Keeps later signals for open(), so that they do not end a process that has just started.
  static void block();

  // `on_signal` gets the signal and its count, from 1. SIGTERM and SIGINT count as one: the second
  // stop request of either kind means "immediately". The system may merge equal signals.
  static Result<std::unique_ptr<Signals>> open(
      EventLoop& loop, std::function<void(int signal, int count)> on_signal);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // From now on SIGTERM and SIGINT end the process immediately with `status`, even if threads are
  // blocked. Call it on the thread that opened the signals.
  static void end_process_on_next(int status);
  // The same after this time, in whole seconds.
  static void end_process_after(std::chrono::seconds time, int status);

 private:
  Signals(EventLoop& loop, int fd, const sigset_t& mask_before,
          std::function<void(int signal, int count)> on_signal);
  void read_all();

  EventLoop& loop_;
  const int fd_;
  const sigset_t mask_before_;
  const std::function<void(int signal, int count)> on_signal_;
  int stop_requests_ = 0;
  int hangups_ = 0;
};

}  // namespace carillon
