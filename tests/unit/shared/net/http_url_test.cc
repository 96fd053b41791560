#include "shared/net/http_url.h"

#include <gtest/gtest.h>

namespace carillon::net {
namespace {

TEST(HttpUrl, IsSplitIntoItsParts) {
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

TEST(HttpUrl, IsQuotedWhenInvalid) {
  for (const char* text :
       {"", "h:8080", "ftp://h", "http://", "http://h:x", "http://h:", "http://h:0",
        "http://h:65536", "http:///p", "http://u@h", "http://h/?q", "http://[::1", "http://a b"}) {
    SCOPED_TRACE(text);
    const auto url = parse_http_url(text);
    ASSERT_FALSE(url.ok());
    EXPECT_EQ(url.error().message,
              "'" + std::string{text} + "' is not an address like http://HOST:PORT/");
  }
}

TEST(HttpUrl, HasNoByteThatEndsItForAnotherProgram) {
  using namespace std::string_view_literals;
  for (const auto text : {"http://a\0b/"sv, "http://h/\vp"sv, "http://h\x7f/"sv, "http://[[]:80/"sv,
                          "http://a]b/"sv, "http://[a[b]/"sv}) {
    SCOPED_TRACE(std::string{text});
    EXPECT_FALSE(parse_http_url(text).ok());
  }
}

TEST(HttpUrl, NamesItsServerWithThePort) {
  EXPECT_EQ(parse_http_url("http://h/path").value().server(), "http://h:80");
  EXPECT_EQ(parse_http_url("https://[::1]/").value().server(), "https://[::1]:443");
  EXPECT_EQ(parse_http_url("http://10.0.0.7:9999").value().server(), "http://10.0.0.7:9999");
}

}  // namespace
}  // namespace carillon::net
