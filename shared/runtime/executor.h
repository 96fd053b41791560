#pragma once

#include <cstdint>
#include <functional>

#include "carillon/time.h"

namespace carillon {

using TimerId = std::uint64_t;  // never 0

// Runs work on one thread, now or later; a simulator brings its own.
// Thread: the thread that runs the work.
class Executor {
 public:
  virtual ~Executor() = default;
  // After what is being done now, in order of posting.
  virtual void post(std::function<void()> work) = 0;
  // Once, not before `when`; a time gone by means at once.
  virtual TimerId post_at(SteadyTime when, std::function<void()> work) = 0;
  // A timer that has run or was cancelled is fine.
  virtual void cancel(TimerId timer) = 0;
};

}  // namespace carillon
