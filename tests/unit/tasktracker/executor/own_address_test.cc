#include "tasktracker/executor/own_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::tasktracker {
namespace {

TEST(HttpUrl, IsTakenApart) {
  const auto url = parse_http_url("https://h.example:8443/xxl-job-admin/");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url.value().scheme, "https");
  EXPECT_EQ(url.value().host, "h.example");
  EXPECT_EQ(url.value().port, "8443");
  EXPECT_EQ(url.value().path, "/xxl-job-admin");
}

TEST(HttpUrl, NeedsNeitherPortNorPath) {
  const auto url = parse_http_url("http://[::1]");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url.value().host, "::1");
  EXPECT_EQ(url.value().port, "");
  EXPECT_EQ(url.value().path, "");
}

TEST(HttpUrl, IsRefusedByName) {
  for (const char* text : {"", "h:8080", "ftp://h", "http://", "http://h:x", "http://h:",
                           "http:///p", "http://u@h", "http://h/?q", "http://[::1", "http://a b"}) {
    SCOPED_TRACE(text);
    const auto url = parse_http_url(text);
    ASSERT_FALSE(url.ok());
    EXPECT_EQ(url.error().message,
              "'" + std::string{text} + "' is not an address like http://HOST:PORT/");
  }
}

TEST(OwnAddress, TowardsThisMachineIsLoopback) {
  const auto own = own_address_towards({.scheme = "http", .host = "127.0.0.1", .port = "8080"});
  ASSERT_TRUE(own.ok()) << own.error().message;
  EXPECT_EQ(own.value(), "127.0.0.1");
}

}  // namespace
}  // namespace carillon::tasktracker
