#include "shared/outbox/outbox_thread.h"

#include <gtest/gtest.h>

#include "shared/runtime/wakeup.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"

namespace carillon::outbox {
namespace {

struct OutboxThreadBundle {
  OutboxThreadBundle() {
    auto outbox = std::make_unique<Outbox>(
        OutboxConfig{.folder = folder.file("outbox"), .addresses = {"tcp://127.0.0.1:1"}}, clock);
    thread = OutboxThread::start(std::move(outbox), [this] { woken.signal(); }).value();
  }

  testing::TempFolder folder;
  ManualClock clock;
  Wakeup woken;
  std::unique_ptr<OutboxThread> thread;
};

TEST(OutboxThread, WakesTheCallerWhenItsWorkIsDone) {
  OutboxThreadBundle b;
  EXPECT_FALSE(b.thread->take());
  b.thread->start({.add = {{.id = {kOwnSlot, 1}, .body = "one"}}});
  b.woken.wait();
  const auto done = b.thread->take();
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->status.ok());
  EXPECT_EQ(done->added, 1u);
  EXPECT_EQ(done->work.add.front().body, "one");
  b.thread->start({.load = true});
  b.woken.wait();
  EXPECT_EQ(b.thread->take()->loaded.size(), 1u);
}

TEST(OutboxThread, FinishesStartedWorkBeforeItEnds) {
  OutboxThreadBundle b;
  b.thread->start({.add = {{.id = {kOwnSlot, 1}, .body = "one"}}});
  b.thread->finish();
  ASSERT_TRUE(b.thread->take());
  Outbox next({.folder = b.folder.file("outbox"), .addresses = {"tcp://127.0.0.1:1"}}, b.clock);
  EXPECT_EQ(next.entries(), 1);
}

}  // namespace
}  // namespace carillon::outbox
