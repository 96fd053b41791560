#include "shared/net/endpoint.h"

#include <gtest/gtest.h>

namespace carillon::net {
namespace {

TEST(Endpoint, ParsesAddressesAndHostNames) {
  EXPECT_EQ(parse_endpoint("tcp://127.0.0.1:35001").value(), (Endpoint{"127.0.0.1", 35001}));
  EXPECT_EQ(parse_endpoint("tcp://*:0").value(), (Endpoint{"*", 0}));
  EXPECT_EQ(parse_endpoint("tcp://[::1]:1").value(), (Endpoint{"::1", 1}));
  EXPECT_EQ(parse_host_port("db-1.example:65535").value(), (Endpoint{"db-1.example", 65535}));
}

TEST(Endpoint, FormatsIpv4AndIpv6Addresses) {
  EXPECT_EQ((Endpoint{"::1", 80}).text(), "tcp://[::1]:80");
  EXPECT_EQ((Endpoint{"10.0.0.1", 80}).host_port(), "10.0.0.1:80");
}

TEST(Endpoint, RefusesInvalidAddressesAndShowsAnExample) {
  for (const char* text : {"", "127.0.0.1:1", "tcp://", "tcp://:1", "tcp://host",
                           "tcp://host:", "tcp://host:65536", "tcp://host:-1", "tcp://host:1x",
                           "tcp://::1:5", "tcp://a b:1", "tcp://host/x:1", "ipc:///tmp/x"}) {
    EXPECT_FALSE(parse_endpoint(text).ok()) << text;
  }
  EXPECT_EQ(parse_endpoint("tcp://host").error().message,
            "'tcp://host' is not an address, must look like tcp://127.0.0.1:35001");
  EXPECT_EQ(parse_endpoint("tcp://host:99999").error().message,
            "'tcp://host:99999' is not an address, must look like tcp://127.0.0.1:35001 (HOST:PORT "
            "with a port of 0 to 65535)");
}

TEST(Endpoint, HasNoControlCharacter) {
  using namespace std::string_view_literals;
  for (const auto text :
       {"tcp://a\0b:1"sv, "tcp://a\nb:1"sv, "tcp://a\tb:1"sv, "tcp://a\x7f:1"sv}) {
    EXPECT_FALSE(parse_endpoint(text).ok()) << text;
  }
}

TEST(Endpoint, RecognizesLoopbackAddresses) {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "localhost", "::1"}) {
    EXPECT_TRUE((Endpoint{host, 1}).is_loopback()) << host;
  }
  for (const char* host : {"*", "0.0.0.0", "::", "10.0.0.1", "localhost.example"}) {
    EXPECT_FALSE((Endpoint{host, 1}).is_loopback()) << host;
  }
}

}  // namespace
}  // namespace carillon::net
