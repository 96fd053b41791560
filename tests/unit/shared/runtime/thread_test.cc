#include "shared/runtime/thread.h"

#include <array>
#include <csignal>
#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <pthread.h>

namespace carillon {
namespace {

TEST(Thread, TruncatesItsNameToFifteenCharacters) {
  std::string name;
  {
    const auto thread = Thread::start("a-name-that-is-too-long", [&] {
      std::array<char, 32> buffer{};
      pthread_getname_np(pthread_self(), buffer.data(), buffer.size());
      name = buffer.data();
    });
    ASSERT_TRUE(thread.ok());
  }
  EXPECT_EQ(name, "a-name-that-is-");
}

TEST(Thread, BlocksSignalsOfTheProcess) {
  sigset_t mask;
  sigemptyset(&mask);
  {
    const auto thread =
        Thread::start("masked", [&] { pthread_sigmask(SIG_SETMASK, nullptr, &mask); });
    ASSERT_TRUE(thread.ok());
  }
  EXPECT_EQ(sigismember(&mask, SIGTERM), 1);
  EXPECT_EQ(sigismember(&mask, SIGCHLD), 1);
  EXPECT_EQ(sigismember(&mask, SIGSEGV), 0);
}

TEST(Thread, JoiningTwiceIsHarmless) {
  int ran = 0;
  const auto thread = Thread::start("twice", [&] { ++ran; }).value();
  thread->join();
  thread->join();
  EXPECT_EQ(ran, 1);
}

TEST(Thread, DetachedThreadOutlivesItsOwner) {
  const auto released = std::make_shared<std::promise<void>>();
  const auto ran = std::make_shared<std::promise<int>>();
  std::future<int> result = ran->get_future();
  {
    const auto thread = Thread::start("alone", [released, ran] {
      released->get_future().wait();
      ran->set_value(1);
    });
    ASSERT_TRUE(thread.ok());
    thread.value()->detach();
  }
  released->set_value();
  EXPECT_EQ(result.get(), 1);
}

TEST(Thread, HardwareThreadCountIsAtLeastOne) { EXPECT_GE(hardware_threads(), 1); }

}  // namespace
}  // namespace carillon
