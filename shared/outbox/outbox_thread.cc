#include "shared/outbox/outbox_thread.h"

#include <utility>

#include "shared/base/assert.h"

namespace carillon::outbox {

Result<std::unique_ptr<OutboxThread>> OutboxThread::start(std::unique_ptr<Outbox> outbox,
                                                          std::function<void()> wake) {
  std::unique_ptr<OutboxThread> made(new OutboxThread(std::move(outbox), std::move(wake)));
  made->thread_ = CARILLON_TRY(Thread::start("outbox", [raw = made.get()] { raw->run(); }));
  return made;
}

OutboxThread::OutboxThread(std::unique_ptr<Outbox> outbox, std::function<void()> wake)
    : outbox_(std::move(outbox)), wake_(std::move(wake)) {}

OutboxThread::~OutboxThread() { finish(); }

void OutboxThread::start(Work work) {
  const bool taken = to_do_.put(std::move(work));
  CARILLON_ASSERT(taken, "one task at a time, and one stop");
}

std::optional<WorkDone> OutboxThread::take() { return done_.take(); }

void OutboxThread::finish() {
  if (thread_ == nullptr) return;
  const bool taken = to_do_.put(std::nullopt);
  CARILLON_ASSERT(taken, "one task at a time, and one stop");
  thread_->join();
  thread_.reset();
  outbox_.reset();
}

void OutboxThread::run() {
  while (true) {
    to_do_.wait();
    while (auto next = to_do_.take()) {
      if (!*next) return;
      const bool taken = done_.put(outbox_->run(std::move(**next)));
      CARILLON_ASSERT(taken, "the results are taken before the next task");
      wake_();
    }
  }
}

}  // namespace carillon::outbox
