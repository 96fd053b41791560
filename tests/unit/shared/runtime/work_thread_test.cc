#include "shared/runtime/work_thread.h"

#include <future>
#include <vector>

#include <gtest/gtest.h>

namespace carillon {
namespace {

TEST(WorkThread, RunsWorkInOrderOnAnotherThread) {
  const auto thread = WorkThread::start("work", 8).value();
  std::vector<int> order;
  std::promise<std::thread::id> ran;
  ASSERT_TRUE(thread->run([&] { order.push_back(1); }));
  ASSERT_TRUE(thread->run([&] { order.push_back(2); }));
  ASSERT_TRUE(thread->run([&] { ran.set_value(std::this_thread::get_id()); }));
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(WorkThread, TakesNoMoreThanItsLimit) {
  std::promise<void> begun;
  std::promise<void> released;
  const auto thread = WorkThread::start("work", 2).value();
  ASSERT_TRUE(thread->run([&] {
    begun.set_value();
    released.get_future().wait();
  }));
  begun.get_future().wait();
  int taken = 0;
  while (taken < 100 && thread->run([] {})) ++taken;
  EXPECT_GE(taken, 2);
  EXPECT_LT(taken, 100);
  released.set_value();
}

TEST(WorkThread, DropsWaitingWorkAtItsEnd) {
  std::promise<void> begun;
  std::promise<void> released;
  bool has_run = false;
  auto thread = WorkThread::start("work", 4).value();
  const std::atomic<bool>& is_stopping = thread->stopping();
  ASSERT_TRUE(thread->run([&] {
    begun.set_value();
    released.get_future().wait();
    while (!is_stopping) std::this_thread::yield();
  }));
  begun.get_future().wait();
  ASSERT_TRUE(thread->run([&] { has_run = true; }));
  released.set_value();
  thread.reset();
  EXPECT_FALSE(has_run);
}

}  // namespace
}  // namespace carillon
