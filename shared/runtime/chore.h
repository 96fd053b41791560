#pragma once

#include <functional>
#include <memory>
#include <string>

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/runtime/thread.h"
#include "shared/runtime/wakeup.h"

namespace carillon {

// Repeats work on its own thread, starting immediately. The destructor waits for the current run.
//
// Thread: the owner's.
class Chore {
 public:
  // `name`: of the thread. `work` returns the time until its next run.
  static Result<std::unique_ptr<Chore>> start(const std::string& name,
                                              std::function<Duration()> work);
  ~Chore();
  Chore(const Chore&) = delete;
  Chore& operator=(const Chore&) = delete;

 private:
  Chore() = default;

  Wakeup stop_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace carillon
