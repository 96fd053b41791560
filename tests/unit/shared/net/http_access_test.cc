#include "shared/net/http_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::net {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(HttpAccess, NeedsCertificateAndKeyTogether) {
  EXPECT_TRUE(check_http_access({}).ok());
  EXPECT_TRUE(check_http_access({.certificate = "c", .key = "k"}).ok());
  EXPECT_THAT(check_http_access({.certificate = "c"}).error().message,
              HasSubstr("--http-cert needs --http-key"));
  EXPECT_THAT(check_http_access({.key = "k"}).error().message,
              HasSubstr("--http-key needs --http-cert"));
}

TEST(HttpAccess, RefusesWhatIsNoNetwork) {
  EXPECT_TRUE(check_http_access({.proxies = {"10.0.0.0/8", "fd12::1"}}).ok());
  EXPECT_THAT(check_http_access({.proxies = {"proxy.example"}}).error().message,
              AllOf(HasSubstr("--behind-proxy"), HasSubstr("'proxy.example' is not a network")));
}

TEST(HttpAccess, OtherMachinesNeedEncryptionOrAProxy) {
  for (const char* address : {"0.0.0.0:8080", "*:8080", "[::]:8080", "10.1.2.3:8080"}) {
    SCOPED_TRACE(address);
    const Status refused = check_http_privacy({}, "--http", address);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(
        refused.error().message,
        AllOf(HasSubstr(std::string{"--http "} + address), HasSubstr("--http-cert"),
              HasSubstr("--http-key"), HasSubstr("--behind-proxy"), HasSubstr("--insecure")));
    EXPECT_TRUE(check_http_privacy({.certificate = "c", .key = "k"}, "--http", address).ok());
    EXPECT_TRUE(check_http_privacy({.proxies = {"10.0.0.0/8"}}, "--http", address).ok());
  }
}

TEST(HttpAccess, ThisMachineNeedsNothing) {
  for (const char* address : {"127.0.0.1:8080", "localhost:0", "[::1]:8080"})
    EXPECT_TRUE(check_http_privacy({}, "--http", address).ok()) << address;
}

}  // namespace
}  // namespace carillon::net
