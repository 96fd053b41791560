#include "shared/runtime/thread.h"

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

#include <pthread.h>

namespace carillon {

Result<std::unique_ptr<Thread>> Thread::start(const std::string& name, std::function<void()> work) {
  // A thread inherits its creator's signal mask. All signals stay with the main thread, except
  // those that report a fault of the thread itself.
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF}) {
    sigdelset(&blocked, fault);
  }
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  Result<std::unique_ptr<Thread>> started{std::unique_ptr<Thread>{}};
  try {
    std::thread thread([short_name = name.substr(0, 15), work = std::move(work)] {
      pthread_setname_np(pthread_self(), short_name.c_str());
      work();
    });
    started = std::unique_ptr<Thread>(new Thread(std::move(thread)));
  } catch (const std::system_error& failure) {
    started = Error{ErrorCode::kUnavailable, "cannot start thread '" + name +
                                                 "': " + failure.code().message() +
                                                 " (raise the process limit)"};
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

Thread::~Thread() { join(); }

void Thread::join() {
  if (thread_.joinable()) thread_.join();
}

void Thread::detach() {
  if (thread_.joinable()) thread_.detach();
}

int hardware_threads() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace carillon
