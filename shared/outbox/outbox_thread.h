#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "shared/outbox/entry.h"
#include "shared/outbox/outbox.h"
#include "shared/runtime/mailbox.h"
#include "shared/runtime/thread.h"

namespace carillon::outbox {

// An outbox on its own thread, so that the loop does not wait for its disk. Thread: the loop;
// finish() and the destructor by the owner.
class OutboxThread final : public OutboxWriter {
 public:
  // `wake` is called on that thread when work is done.
  static Result<std::unique_ptr<OutboxThread>> start(std::unique_ptr<Outbox> outbox,
                                                     std::function<void()> wake);
  // See finish().
  ~OutboxThread() override;
  OutboxThread(const OutboxThread&) = delete;
  OutboxThread& operator=(const OutboxThread&) = delete;

  void start(Work work) override;
  std::optional<WorkDone> take() override;

  // Ends the thread after the started work, which can still be taken. Releases the slots.
  void finish();

 private:
  OutboxThread(std::unique_ptr<Outbox> outbox, std::function<void()> wake);
  void run();

  std::unique_ptr<Outbox> outbox_;
  const std::function<void()> wake_;
  Mailbox<std::optional<Work>> to_do_{2};  // nothing: stop
  Mailbox<WorkDone> done_{2};
  std::unique_ptr<Thread> thread_;
};

}  // namespace carillon::outbox
