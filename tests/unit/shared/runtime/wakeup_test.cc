#include "shared/runtime/wakeup.h"

#include <atomic>

#include <gtest/gtest.h>
#include <poll.h>

#include "shared/runtime/thread.h"

namespace carillon {
namespace {

bool is_readable(const Wakeup& wakeup) {
  pollfd descriptor{.fd = wakeup.fd(), .events = POLLIN, .revents = 0};
  return ::poll(&descriptor, 1, 0) == 1;
}

TEST(Wakeup, IsReadableFromASignalUntilItIsCleared) {
  Wakeup wakeup;
  EXPECT_FALSE(is_readable(wakeup));
  wakeup.signal();
  wakeup.signal();
  EXPECT_TRUE(is_readable(wakeup));
  wakeup.clear();
  EXPECT_FALSE(is_readable(wakeup));
  wakeup.signal();
  EXPECT_TRUE(is_readable(wakeup));
}

TEST(Wakeup, WaitsNoLongerThanItIsTold) {
  Wakeup wakeup;
  EXPECT_FALSE(wakeup.wait_for(std::chrono::milliseconds{1}));
  wakeup.signal();
  EXPECT_TRUE(wakeup.wait_for(std::chrono::hours{1}));
  EXPECT_FALSE(wakeup.wait_for(Duration{0}));
}

TEST(Wakeup, LosesNoSignalOfAnotherThread) {
  constexpr int kRounds = 2000;
  Wakeup there;
  Wakeup back;
  int echoed = 0;
  const auto other = Thread::start("echo", [&] {
    for (int i = 0; i < kRounds; ++i) {
      there.wait();
      ++echoed;
      back.signal();
    }
  });
  ASSERT_TRUE(other.ok());
  for (int i = 0; i < kRounds; ++i) {
    there.signal();
    back.wait();
    ASSERT_EQ(echoed, i + 1);
  }
}

// Most of these signals come between the end of a wait and the next one.
TEST(Wakeup, LosesNoSignalThatComesAsAWaitRunsOut) {
  constexpr int kRounds = 20'000;
  constexpr int kWaitsMax = 1'000'000;  // A lost signal is never seen.
  Wakeup there;
  Wakeup back;
  std::atomic<bool> is_over = false;
  const auto other = Thread::start("signaller", [&] {
    for (back.wait(); !is_over; back.wait()) there.signal();
  });
  ASSERT_TRUE(other.ok());
  int waits = 0;
  for (int i = 0; i < kRounds && waits < kWaitsMax; ++i) {
    back.signal();
    for (waits = 0; waits < kWaitsMax && !there.wait_for(Duration{0}); ++waits) continue;
  }
  EXPECT_LT(waits, kWaitsMax);
  is_over = true;
  back.signal();
}

}  // namespace
}  // namespace carillon
