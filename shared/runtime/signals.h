#pragma once

#include <csignal>
#include <functional>
#include <memory>

#include "carillon/result.h"
#include "shared/runtime/event_loop.h"

namespace carillon {

// SIGTERM, SIGINT and SIGHUP as calls on an event loop; SIGPIPE is ignored from now on. The
// signals are blocked in the thread that opens it and in all that are started later, so open it
// before any is, and block() them first thing in main. A child process inherits the blocking: give
// it a mask of its own before exec.
//
// Thread: the loop's.
class Signals {
 public:
  // What comes from now on waits for open(), and ends no process that has hardly begun.
  static void block();

  // `on_signal` gets the signal and how often it has come, from 1. SIGTERM and SIGINT count as one:
  // the second request to stop, whichever it is, means "at once". The system may merge equal
  // signals that come faster than they are read.
  static Result<std::unique_ptr<Signals>> open(
      EventLoop& loop, std::function<void(int signal, int count)> on_signal);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // From now on SIGTERM and SIGINT end the process at once, with `status`, whatever its threads
  // wait for. On the thread that opened the signals.
  static void end_process_on_next(int status);
  // Or after that time, in whole seconds.
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
