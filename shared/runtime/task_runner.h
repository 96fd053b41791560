#pragma once

#include <cstdint>
#include <functional>

#include "carillon/time.h"

namespace carillon {

using TimerId = std::uint64_t;  // never 0

// A task runner: runs work on one thread, now or later; the simulator has its own. Thread: the
// thread that runs the work.
class TaskRunner {
 public:
  virtual ~TaskRunner() = default;
  // Runs after the current work, in order of posting.
  virtual void post(std::function<void()> work) = 0;
  // Runs once, not before `when`; immediately if `when` has passed.
  virtual TimerId post_at(SteadyTime when, std::function<void()> work) = 0;
  // No effect for a timer that has run or was cancelled.
  virtual void cancel(TimerId timer) = 0;
};

}  // namespace carillon
