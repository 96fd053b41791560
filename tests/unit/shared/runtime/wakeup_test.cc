#include "shared/runtime/wakeup.h"

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

}  // namespace
}  // namespace carillon
