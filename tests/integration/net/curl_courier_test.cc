#include "shared/net/http/curl_courier.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/clock.h"
#include "shared/runtime/event_loop.h"
#include "tests/support/scripted_server.h"

namespace carillon::net {
namespace {

using ::carillon::testing::Conversation;
using ::carillon::testing::ScriptedServer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// A courier and who uses it.
struct Delivering {
  Delivering() {
    courier->set_receiver([this](std::uint64_t id, const Status& status) {
      EXPECT_TRUE(outcomes.emplace(id, status).second) << "a second outcome of " << id;
    });
  }

  // Sends it and waits for what came of it.
  Status deliver(const std::string& to) {
    const std::uint64_t id = ++last;
    EXPECT_TRUE(courier->send({.id = id, .to = to, .body = "{}"}));
    const SteadyTime patience = clock.steady_now() + seconds{60};
    while (!outcomes.contains(id) && clock.steady_now() < patience)
      loop.run_once(milliseconds{100});
    if (outcomes.contains(id)) return outcomes.at(id);
    return Error{ErrorCode::kTimeout, "no outcome"};
  }

  SystemClock clock;
  EventLoop loop{clock};
  std::uint64_t last = 0;
  std::map<std::uint64_t, Status> outcomes;
  std::unique_ptr<CurlCourier> courier = CurlCourier::start({}, loop, clock).value();
};

TEST(CurlCourier, RefusesMetadataAddressesInEveryNotation) {
  Delivering d;
  for (const char* url :
       {"http://169.254.169.254/latest/meta-data", "https://169.254.169.254/", "http://2852039166/",
        "http://0xa9fea9fe/", "http://0251.0376.0251.0376/", "http://[::ffff:169.254.169.254]/",
        "http://[fe80::1]:8080/", "http://[fd00:ec2::254]/", "http://100.100.100.200/"}) {
    const Status status = d.deliver(url);
    ASSERT_FALSE(status.ok()) << url;
    EXPECT_EQ(status.error().code, ErrorCode::kDenied) << url << ": " << status.error().message;
    EXPECT_THAT(status.error().message, HasSubstr("link-local or metadata address")) << url;
  }
}

TEST(CurlCourier, FollowsNoRedirectToAMetadataAddress) {
  Delivering d;
  ScriptedServer server([](Conversation& conversation) {
    conversation.read_request();
    conversation.write(
        "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n");
  });
  const Status status = d.deliver(server.url());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "answered with status 302");
  EXPECT_EQ(server.connections(), 1);
}

TEST(CurlCourier, PostsToOtherAddresses) {
  Delivering d;
  ScriptedServer server([](Conversation& conversation) {
    if (!conversation.read_request().empty()) conversation.answer("{}");
  });
  const Status status = d.deliver(server.url() + "/hook");
  EXPECT_TRUE(status.ok()) << status.error().message;
}

}  // namespace
}  // namespace carillon::net
