#include "shared/runtime/work_thread.h"

#include <utility>

namespace carillon {

Result<std::unique_ptr<WorkThread>> WorkThread::start(const std::string& name,
                                                      std::size_t waiting_max) {
  std::unique_ptr<WorkThread> made(new WorkThread(waiting_max));
  made->thread_ =
      CARILLON_TRY(Thread::start(name, [worker = made.get()] { worker->work_until_stopped(); }));
  return made;
}

WorkThread::~WorkThread() {
  stopping_ = true;
  // Wakes the thread. If there is no room, it is awake.
  (void)waiting_.put([] {});
  thread_.reset();
}

bool WorkThread::run(std::function<void()> work) { return waiting_.put(std::move(work)); }

void WorkThread::work_until_stopped() {
  while (!stopping_) {
    waiting_.wait();
    while (!stopping_) {
      const auto work = waiting_.take();
      if (!work) break;
      (*work)();
    }
  }
}

}  // namespace carillon
