#include "shared/net/address_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/net/own_machine.h"

namespace carillon::net {
namespace {

using ::testing::HasSubstr;

TEST(AddressGuard, AllowsAllButMetadataAddressesByDefault) {
  const AddressGuard guard;
  for (const char* address : {"127.0.0.1", "10.1.2.3", "::1", "fd00::1"}) {
    EXPECT_TRUE(guard.check(address).ok()) << address;
  }
  for (const char* address : {"169.254.169.254", "fd00:ec2::254", "fe80::1%eth0"}) {
    const Status refused = guard.check(address);
    ASSERT_FALSE(refused.ok()) << address;
    EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
    EXPECT_THAT(refused.error().message, HasSubstr("link-local or metadata address"));
  }
}

TEST(AddressGuard, AllowsOnlyItsNetworks) {
  const auto guard = AddressGuard::only({"10.0.0.0/9", "192.168.1.7", "fd12:3456::/31"});
  ASSERT_TRUE(guard.ok());
  for (const char* address : {"10.127.255.255", "::ffff:10.0.0.1", "192.168.1.7", "fd12:3457::1"}) {
    EXPECT_TRUE(guard.value().check(address).ok()) << address;
  }
  for (const char* address : {"10.128.0.0", "192.168.1.8", "fd12:3458::1", "::1", "127.0.0.1"}) {
    EXPECT_FALSE(guard.value().check(address).ok()) << address;
  }
  EXPECT_FALSE(guard.value().check_host("2130706433").ok()) << "127.0.0.1";
  EXPECT_TRUE(guard.value().check_host("example.org").ok()) << "a name is resolved first";
  const auto all = AddressGuard::only({"0.0.0.0/0"});
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(all.value().check("10.1.2.3").ok());
  EXPECT_FALSE(all.value().check("169.254.169.254").ok());
  EXPECT_FALSE(all.value().check("fd00::1").ok());
}

TEST(AddressGuard, RefusesWhatIsNoNetwork) {
  for (const char* text : {"", "example.org", "10.0.0.0/33", "10.0.0.0/", "10/8", "10.0.0.0/8x",
                           "fd00::/129", "10.0.0.0/-1"}) {
    EXPECT_FALSE(check_network(text).ok()) << text;
  }
}

TEST(OwnMachine, IncludesLoopbackItsNameAndItsInterfaces) {
  for (const char* host : {"localhost", "LOCALHOST.", "127.0.0.1", "127.9.9.9", "::1", "0.0.0.0",
                           "::ffff:127.0.0.1", "2130706433"}) {
    EXPECT_TRUE(is_own_machine(host)) << host;
  }
  for (const char* host : {"203.0.113.9", "2001:db8::9", "example.org", ""}) {
    EXPECT_FALSE(is_own_machine(host)) << host;
  }
}

}  // namespace
}  // namespace carillon::net
