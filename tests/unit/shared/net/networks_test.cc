#include "shared/net/networks.h"

#include <gtest/gtest.h>

namespace carillon::net {
namespace {

TEST(Networks, ContainAddressesOfTheirs) {
  const Networks networks =
      Networks::parse({"10.0.0.0/9", "192.168.1.7", "fd12:3456::/31"}).value();
  for (const char* address :
       {"10.0.0.1", "10.127.255.255", "192.168.1.7", "::ffff:10.1.2.3", "fd12:3457::1"})
    EXPECT_TRUE(networks.contains(address)) << address;
  for (const char* address : {"10.128.0.0", "192.168.1.8", "fd12:3458::1", "proxy.example", ""})
    EXPECT_FALSE(networks.contains(address)) << address;
  EXPECT_FALSE(Networks{}.contains("10.0.0.1"));
}

TEST(Networks, KnowLoopbackAddresses) {
  for (const char* address : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_loopback_address(address)) << address;
  for (const char* address : {"128.0.0.1", "10.0.0.127", "::", "fe80::1", "localhost", ""})
    EXPECT_FALSE(is_loopback_address(address)) << address;
}

TEST(Networks, KnowAddressesInTheirUsualForm) {
  for (const char* text : {"10.0.0.1", "::1", "fd12::1"}) EXPECT_TRUE(is_numeric_address(text));
  for (const char* text : {"10.1", "10.0.0.1 x", "1.2.3.4:5", "[::1]", "unknown", ""})
    EXPECT_FALSE(is_numeric_address(text)) << text;
}

}  // namespace
}  // namespace carillon::net
