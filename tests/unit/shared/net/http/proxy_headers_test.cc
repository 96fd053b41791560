#include "shared/net/http/proxy_headers.h"

#include <gtest/gtest.h>

namespace carillon::net {
namespace {

const Networks& proxies() {
  static const Networks networks = Networks::parse({"10.0.0.0/8", "fd00::/8"}).value();
  return networks;
}

TEST(ProxyHeaders, ClientIsTheLastAddressThatIsNoProxy) {
  EXPECT_EQ(client_address("10.0.0.1", "203.0.113.9", proxies()), "203.0.113.9");
  // The first was written by the client, the last by the proxy before this one.
  EXPECT_EQ(client_address("10.0.0.1", "127.0.0.1, 203.0.113.9 ,10.0.0.2", proxies()),
            "203.0.113.9");
  EXPECT_EQ(client_address("10.0.0.1", "10.0.0.3, 10.0.0.2", proxies()), "10.0.0.3");
  EXPECT_EQ(client_address("fd00::1", "2001:db8::7", proxies()), "2001:db8::7");
}

TEST(ProxyHeaders, AddressesMayHaveAPort) {
  EXPECT_EQ(client_address("10.0.0.1", "203.0.113.9:4075", proxies()), "203.0.113.9");
  EXPECT_EQ(client_address("10.0.0.1", "[2001:db8::7]:4075", proxies()), "2001:db8::7");
}

TEST(ProxyHeaders, WithoutAnAddressTheNearestKnownOneCounts) {
  for (const char* header :
       {"", "unknown", "1.2.3.4 spoofed", "203.0.113.9, _hidden", ",", "[", ":"})
    EXPECT_EQ(client_address("10.0.0.1", header, proxies()), "10.0.0.1") << header;
  EXPECT_EQ(client_address("10.0.0.1", "unknown, 10.0.0.2", proxies()), "10.0.0.2");
}

TEST(ProxyHeaders, OthersCannotReportAClient) {
  EXPECT_EQ(client_address("203.0.113.9", "198.51.100.1", proxies()), "203.0.113.9");
  EXPECT_EQ(client_address("127.0.0.1", "198.51.100.1", proxies()), "127.0.0.1");
}

TEST(ProxyHeaders, ARequestWasEncryptedIfEachConnectionWas) {
  for (const char* header : {"https", "HTTPS", "https, https", " https "})
    EXPECT_TRUE(was_encrypted(header)) << header;
  for (const char* header : {"", "http", "https, http", "http, https", "https,", "wss"})
    EXPECT_FALSE(was_encrypted(header)) << header;
}

}  // namespace
}  // namespace carillon::net
