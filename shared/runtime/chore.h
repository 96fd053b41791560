#pragma once

#include <functional>
#include <memory>
#include <string>

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/runtime/thread.h"
#include "shared/runtime/wakeup.h"

namespace carillon {

// Does something again and again, on a thread of its own, the first time at once. Ends when it is
// destroyed, after what is being done.
//
// Thread: the owner's.
class Chore {
 public:
  // `name`: of the thread. `work` says after how long it is to be done again.
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
