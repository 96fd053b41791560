#include "shared/runtime/wakeup.h"

#include <atomic>
#include <chrono>

#include <gtest/gtest.h>
#include <poll.h>

#include "shared/base/clock.h"
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

TEST(Wakeup, WaitEndsAtItsTimeout) {
  Wakeup wakeup;
  EXPECT_FALSE(wakeup.wait_for(std::chrono::milliseconds{1}));
  wakeup.signal();
  EXPECT_TRUE(wakeup.wait_for(std::chrono::hours{1}));
  EXPECT_FALSE(wakeup.wait_for(Duration{0}));
}

TEST(Wakeup, LosesNoSignalFromAnotherThread) {
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
TEST(Wakeup, LosesNoSignalThatRacesWithATimeout) {
  constexpr int kRounds = 20'000;
  Wakeup there;
  Wakeup back;
  std::atomic<bool> is_over = false;
  const auto other = Thread::start("signaller", [&] {
    for (back.wait(); !is_over; back.wait()) there.signal();
  });
  ASSERT_TRUE(other.ok());
  const SystemClock clock;
  // A lost signal is never seen.
  const auto until = clock.steady_now() + std::chrono::minutes{1};
  int round = 0;
  for (bool is_lost = false; round < kRounds && !is_lost; ++round) {
    back.signal();
    while (!there.wait_for(Duration{0}) && !is_lost) {
      is_lost = clock.steady_now() > until;
    }
  }
  EXPECT_EQ(round, kRounds);
  is_over = true;
  back.signal();
}

}  // namespace
}  // namespace carillon
