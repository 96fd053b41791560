#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "carillon/result.h"
#include "shared/runtime/mailbox.h"
#include "shared/runtime/thread.h"

namespace carillon {

// Runs work in order on its own thread: what takes too long for a loop or a server's thread.
// Bounded. The destructor waits for the current work; work that waits is dropped.
//
// Thread: the owner's; run() any.
class WorkThread {
 public:
  // `name`: of the thread. `waiting_max`: most works that wait.
  static Result<std::unique_ptr<WorkThread>> start(const std::string& name,
                                                   std::size_t waiting_max);
  ~WorkThread();
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;

  // False: too much work waits, and this is not run.
  bool run(std::function<void()> work);
  // For work that checks whether it should end early.
  const std::atomic<bool>& stopping() const { return stopping_; }

 private:
  explicit WorkThread(std::size_t waiting_max) : waiting_(waiting_max) {}
  void work_until_stopped();

  std::atomic<bool> stopping_{false};
  Mailbox<std::function<void()>> waiting_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace carillon
