#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/clock.h"
#include "shared/net/http/http_poster.h"
#include "shared/runtime/event_loop.h"
#include "tests/support/scripted_server.h"
#include "tests/support/tls_conversation.h"

namespace carillon::net {
namespace {

using ::carillon::testing::Certificate;
using ::carillon::testing::Conversation;
using ::carillon::testing::ScriptedServer;
using ::carillon::testing::TlsConversation;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = PostOutcome::Kind;

// A poster, and a server over TLS.
struct Secure final : PostReceiver {
  using Script = std::function<void(TlsConversation& conversation)>;

  explicit Secure(Script its_script, const std::string& names = "IP:127.0.0.1",
                  bool is_trusted = true)
      : certificate(names),
        server([this, script = std::move(its_script)](Conversation& plain) {
          TlsConversation conversation(certificate, plain);
          if (conversation.is_open()) script(conversation);
        }),
        poster(HttpPoster::start({.ca_file = is_trusted ? certificate.file() : ""}, loop, clock)
                   .value()) {
    poster->set_receiver(this);
  }

  void on_outcome(PostOutcome outcome) override { outcomes[outcome.id] = std::move(outcome); }
  void on_hang_up(const std::string& name) override { hang_ups.push_back(name); }

  template <class Condition>
  void run_until(Condition is_met) {
    const SteadyTime patience = clock.steady_now() + seconds{30};
    while (!is_met() && clock.steady_now() < patience) loop.run_once(milliseconds{100});
    EXPECT_TRUE(is_met());
  }
  std::string url() const { return "https" + server.url().substr(4); }
  PostOutcome post(const std::string& body = "{}", Duration timeout = seconds{20}) {
    return post_to(url(), body, timeout);
  }
  PostOutcome post_to(const std::string& target, const std::string& body, Duration timeout) {
    const std::uint64_t id = outcomes.size() + 1;
    EXPECT_TRUE(poster->post({.id = id, .url = target + "/run", .body = body, .timeout = timeout}));
    run_until([&] { return outcomes.count(id) == 1; });
    return outcomes[id];
  }

  SystemClock clock;
  EventLoop loop{clock};
  std::map<std::uint64_t, PostOutcome> outcomes;
  std::vector<std::string> hang_ups;
  Certificate certificate;
  ScriptedServer server;
  std::unique_ptr<HttpPoster> poster;
};

// Answers each request with how long its body is.
void measure(TlsConversation& conversation) {
  while (true) {
    const std::string request = conversation.read_request();
    if (request.empty()) return;
    conversation.answer(std::to_string(request.size() - request.find("\r\n\r\n") - 4));
  }
}

TEST(HttpsPoster, SendsPostsOverOneConnection) {
  Secure test(measure);
  for (const std::size_t size : {2U, 700'000U, 3U}) {
    const PostOutcome outcome = test.post(std::string(size, 'x'));
    EXPECT_EQ(outcome.kind, Kind::kAnswered) << outcome.error;
    EXPECT_EQ(outcome.status, 200);
    EXPECT_EQ(outcome.body, std::to_string(size));
  }
  EXPECT_EQ(test.server.connections(), 1);
}

TEST(HttpsPoster, ReadsALargeAnswer) {
  const std::string large(60'000, 'y');
  Secure test([&](TlsConversation& conversation) {
    if (!conversation.read_request().empty()) conversation.answer(large);
    conversation.read_request();
  });
  EXPECT_EQ(test.post().body, large);
}

TEST(HttpsPoster, SendsNothingToAServerWithAnUntrustedCertificate) {
  Secure test(measure, "IP:127.0.0.1", /*is_trusted=*/false);
  const PostOutcome outcome = test.post();
  EXPECT_EQ(outcome.kind, Kind::kNotSent);
  EXPECT_FALSE(outcome.is_refused);
  EXPECT_THAT(outcome.error, HasSubstr("its certificate is not trusted: self-signed certificate"));
  EXPECT_THAT(outcome.error, HasSubstr("(--xxl-ca names its certificate authority)"));
}

TEST(HttpsPoster, SendsNothingToAServerWithAMismatchedCertificate) {
  Secure test(measure, "IP:127.0.0.2,DNS:localhost");
  const PostOutcome outcome = test.post();
  EXPECT_EQ(outcome.kind, Kind::kNotSent);
  EXPECT_THAT(outcome.error, HasSubstr("IP address mismatch"));
}

TEST(HttpsPoster, VerifiesAServerByHostName) {
  Secure test(measure, "DNS:localhost");
  const std::string port = test.url().substr(test.url().rfind(':'));
  EXPECT_EQ(test.post_to("https://localhost" + port, "{}", seconds{20}).body, "2");
}

TEST(HttpsPoster, SendsNothingToAServerWithoutTls) {
  Secure test(measure);
  ScriptedServer plain([](Conversation& conversation) { conversation.answer("hello"); });
  const PostOutcome outcome = test.post_to("https" + plain.url().substr(4), "{}", seconds{20});
  EXPECT_EQ(outcome.kind, Kind::kNotSent) << outcome.error;
}

TEST(HttpsPoster, SendsNothingWhenTheTlsHandshakeTimesOut) {
  Secure test(measure);
  ScriptedServer silent([](Conversation& conversation) { conversation.wait_for_close(); });
  const PostOutcome outcome =
      test.post_to("https" + silent.url().substr(4), "{}", milliseconds{300});
  EXPECT_EQ(outcome.kind, Kind::kNotSent);
  EXPECT_THAT(outcome.error, HasSubstr("no answer in time"));
}

TEST(HttpsPoster, OutcomeIsUnknownWhenTheConnectionEnds) {
  for (const bool says_goodbye : {true, false}) {
    Secure test([&](TlsConversation& conversation) {
      conversation.read_request();
      if (says_goodbye) conversation.close();
    });
    const PostOutcome outcome = test.post();
    EXPECT_EQ(outcome.kind, Kind::kUnknown) << outcome.error;
    EXPECT_TRUE(outcome.is_broken);
  }
}

TEST(HttpsPoster, ReportsAClosedConnectionAndReconnects) {
  Secure test([](TlsConversation& conversation) {
    if (!conversation.read_request().empty()) conversation.answer("once");
    conversation.close();
  });
  EXPECT_EQ(test.post().body, "once");
  test.run_until([&] { return !test.hang_ups.empty(); });
  EXPECT_THAT(test.hang_ups, ElementsAre(test.url()));
  EXPECT_EQ(test.post().body, "once");
  EXPECT_EQ(test.server.connections(), 2);
}

TEST(HttpsPoster, RefusesToStartWithoutItsCaCertificates) {
  SystemClock clock;
  EventLoop loop{clock};
  const auto started = HttpPoster::start({.ca_file = "/nowhere/ca.pem"}, loop, clock);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(started.error().message,
              HasSubstr("--xxl-ca /nowhere/ca.pem contains no PEM certificates"));
}

}  // namespace
}  // namespace carillon::net
