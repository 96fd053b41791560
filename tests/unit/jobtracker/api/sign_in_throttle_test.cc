#include "jobtracker/api/sign_in_throttle.h"

#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace carillon::jobtracker {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

struct ThrottleTest : ::testing::Test {
  // Fails until it must wait; returns the wait.
  Duration fail(const std::string& name, const std::string& address) {
    while (true) {
      if (const auto wait = throttle.begin(name, address)) return *wait;
    }
  }

  ManualClock clock;
  SignInThrottle throttle{{.free_of_name = 3, .free_of_address = 5, .entries_max = 4}, clock};
};

TEST_F(ThrottleTest, DoublesTheWaitOfAName) {
  EXPECT_EQ(fail("anna", "a"), seconds{1});
  clock.advance(seconds{1});
  EXPECT_EQ(fail("anna", "b"), seconds{2});
  clock.advance(seconds{2});
  EXPECT_EQ(fail("anna", "c"), seconds{4});
  EXPECT_FALSE(throttle.begin("bert", "d")) << "another name from another address";
}

TEST_F(ThrottleTest, TheWaitOfANameIsShortAtMost) {
  Duration longest{};
  for (int i = 0; i < 10; ++i) {
    longest = fail("anna", "a" + std::to_string(i));
    clock.advance(longest);
  }
  EXPECT_EQ(longest, seconds{30});
}

TEST_F(ThrottleTest, CountsAllNamesOfAnAddress) {
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(throttle.begin("name" + std::to_string(i), "a"));
  EXPECT_EQ(throttle.begin("anna", "a"), seconds{1});
  EXPECT_FALSE(throttle.begin("anna", "b"));
}

TEST_F(ThrottleTest, ASuccessForgetsTheName) {
  fail("anna", "a");
  clock.advance(seconds{1});
  ASSERT_FALSE(throttle.begin("anna", "a"));
  throttle.succeeded("anna", "a");
  EXPECT_FALSE(throttle.begin("anna", "b"));
}

TEST_F(ThrottleTest, ASuccessDoesNotForgetTheFailuresOfTheAddress) {
  for (int i = 0; i < 4; ++i) ASSERT_FALSE(throttle.begin("", "a"));
  for (int i = 0; i < 3; ++i) {
    ASSERT_FALSE(throttle.begin("own", "a"));
    throttle.succeeded("own", "a");
  }
  ASSERT_FALSE(throttle.begin("", "a"));
  EXPECT_TRUE(throttle.begin("own", "a"));
}

TEST_F(ThrottleTest, ForgetsAfterAnHour) {
  fail("anna", "a");
  clock.advance(minutes{61});
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(throttle.begin("anna", "a"));
}

TEST_F(ThrottleTest, ForgetsTheOldestIfThereAreTooMany) {
  fail("anna", "a");
  for (int i = 0; i < 4; ++i) {
    clock.advance(std::chrono::milliseconds{1});
    EXPECT_FALSE(throttle.begin("name" + std::to_string(i), "b" + std::to_string(i)));
  }
  EXPECT_FALSE(throttle.begin("anna", "c"));
}

TEST(ThrottledAddress, IsTheNetworkOfAnIpv6Address) {
  EXPECT_EQ(throttled_address("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(throttled_address("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(throttled_address("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(throttled_address("fe80::1%eth0"), "fe80::/64");
}

}  // namespace
}  // namespace carillon::jobtracker
