#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "carillon/result.h"

namespace carillon {

// A named thread that is joined by the destructor: make its work end first. It never receives
// signals of the process.
//
// Thread: the owner's.
class Thread {
 public:
  // `name`: shown by top and debuggers, cut to 15 characters.
  static Result<std::unique_ptr<Thread>> start(const std::string& name, std::function<void()> work);
  ~Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // Waits until the work has ended. The destructor does it too.
  void join();
  // Lets the thread continue instead. Its work must own all its data until the process ends.
  void detach();

 private:
  explicit Thread(std::thread thread) : thread_(std::move(thread)) {}

  std::thread thread_;
};

// Number of threads that this machine runs in parallel, at least 1.
int hardware_threads();

}  // namespace carillon
