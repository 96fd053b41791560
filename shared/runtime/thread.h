#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "carillon/result.h"

namespace carillon {

// A named thread that is joined when this is destroyed: tell its work to end before. Signals of
// the process are never delivered to it.
//
// Thread: the owner's.
class Thread {
 public:
  // `name` is what top and a debugger show, cut to 15 characters.
  static Result<std::unique_ptr<Thread>> start(const std::string& name, std::function<void()> work);
  ~Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // Waits until the work has ended. Once is enough, the destructor does it too.
  void join();
  // Instead: lets it run on. Its work must own all that it touches, up to the end of the process.
  void detach();

 private:
  explicit Thread(std::thread thread) : thread_(std::move(thread)) {}

  std::thread thread_;
};

// How many threads this machine runs at a time, at least 1.
int hardware_threads();

}  // namespace carillon
