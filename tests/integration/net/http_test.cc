#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "shared/net/endpoint.h"
#include "shared/net/http/http_client.h"
#include "shared/net/http/http_server.h"
#include "shared/runtime/mailbox.h"
#include "shared/runtime/thread.h"
#include "tests/support/raw_connection.h"

namespace carillon::net {
namespace {

using ::carillon::testing::RawConnection;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::size_t kBodyMax = 1'000'000;

// Calls that are answered later, from another thread.
using Waiting = Mailbox<HttpResponder>;

// Says what it was asked; a few targets do something else.
void answer(const HttpCall& call, HttpResponder responder, Waiting& waiting) {
  if (call.target == "/never") return;
  if (call.target == "/later") {
    EXPECT_TRUE(waiting.put(std::move(responder)));
    return;
  }
  if (call.target == "/missing") return responder.send({.status = 404, .body = "no such page"});
  if (call.target == "/large") return responder.send({.body = std::string(kBodyMax + 1, 'x')});
  const auto asked = call.headers.find("x-asked");
  responder.send({.content_type = "text/echo",
                  .body = call.method + " " + call.target + " " + call.body,
                  .headers = {{"X-Asked", asked == call.headers.end() ? "" : asked->second}}});
}

struct Bundle {
  explicit Bundle(HttpServerConfig config = {}) : config_(std::move(config)) {}

  std::string url(const std::string& target) const { return server->url() + target; }
  Result<HttpReply> get(const std::string& target) {
    return send_http({.url = url(target)}, seconds{10}, kBodyMax, cancelled);
  }

  HttpServerConfig config_;
  Waiting waiting{16};
  std::unique_ptr<HttpServer> server =
      HttpServer::open("127.0.0.1:0", config_, [this](HttpCall call, HttpResponder responder) {
        answer(call, std::move(responder), waiting);
      }).value();
  std::atomic<bool> cancelled{false};
};

TEST(Http, CarriesARequestAndItsAnswer) {
  Bundle b;
  const auto reply = send_http({.method = "POST",
                                .url = b.url("/jobs?x=1"),
                                .headers = {{"X-Asked", "yes"}},
                                .body = "hello"},
                               seconds{10}, kBodyMax, b.cancelled);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply.value().status, 200);
  EXPECT_EQ(reply.value().body, "POST /jobs?x=1 hello");
  EXPECT_EQ(reply.value().headers.at("content-type"), "text/echo");
  EXPECT_EQ(reply.value().headers.at("x-asked"), "yes");
  EXPECT_FALSE(reply.value().body_cut);
}

TEST(Http, ReturnsErrorStatusesAsAnswers) {
  Bundle b;
  const auto reply = b.get("/missing");
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply.value().status, 404);
  EXPECT_EQ(reply.value().body, "no such page");
}

TEST(HttpServer, AnswersSeveralRequestsOnOneConnection) {
  Bundle b;
  const RawConnection raw(b.server->url());
  raw.send("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\nGET /b HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(raw.receive_until("GET /b"), HasSubstr("GET /a"));
  raw.send("GET /c HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(raw.receive_until("<never>"), EndsWith("GET /c <closed>"));
}

TEST(HttpServer, AnswersHeadWithLengthButWithoutBody) {
  Bundle b;
  const RawConnection raw(b.server->url());
  raw.send("HEAD /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string answer = raw.receive_until("<never>");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n<closed>"));
}

TEST(HttpServer, AcceptsAnAnswerFromAnotherThread) {
  Bundle b;
  const auto other = Thread::start("answers", [&] {
    b.waiting.wait();
    b.waiting.take()->send({.body = "at last"});
  });
  ASSERT_TRUE(other.ok());
  const auto reply = b.get("/later");
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply.value().body, "at last");
}

TEST(HttpServer, AnswersWhenItsHandlerDoesNot) {
  Bundle b;
  EXPECT_EQ(b.get("/never").value().status, 503);
}

TEST(HttpServer, MayStopBeforeARequestIsAnswered) {
  Bundle b;
  const RawConnection raw(b.server->url());
  raw.send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
  b.waiting.wait();
  auto responder = b.waiting.take();
  ASSERT_TRUE(responder.has_value());
  b.server.reset();
  responder->send({.body = "too late"});
  responder.reset();
  EXPECT_THAT(raw.receive_until("too late"), EndsWith("<closed>"));
}

TEST(HttpServer, RefusesAForeignHostHeader) {
  Bundle b({.names = {"Tracker1.example"}});
  const auto status_for = [&](const std::string& headers) {
    const RawConnection raw(b.server->url());
    raw.send("GET / HTTP/1.1\r\n" + headers + "Connection: close\r\n\r\n");
    return raw.receive_until("<never>").substr(9, 3);
  };
  EXPECT_EQ(status_for("Host: localhost:1234\r\n"), "200");
  EXPECT_EQ(status_for("Host: 127.0.0.1\r\n"), "200");
  EXPECT_EQ(status_for("Host: tracker1.example.\r\n"), "200");
  EXPECT_EQ(status_for("Host: evil.example\r\n"), "403");
  EXPECT_EQ(status_for("Host: 127.0.0.1.evil.example\r\n"), "403");
  EXPECT_EQ(status_for("Host: 10.0.0.1\r\n"), "403");
  EXPECT_EQ(status_for("Host:\r\n"), "403");
  EXPECT_EQ(status_for(""), "403");
}

TEST(HttpServer, RefusesForeignOrigins) {
  Bundle b;
  const auto status_for = [&](const std::string& origin) {
    const RawConnection raw(b.server->url());
    raw.send("POST / HTTP/1.1\r\nHost: localhost:80\r\nOrigin: " + origin +
             "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    return raw.receive_until("<never>").substr(9, 3);
  };
  EXPECT_EQ(status_for("http://localhost:80"), "200");
  EXPECT_EQ(status_for("http://localhost:3000"), "403");
  EXPECT_EQ(status_for("http://evil.example"), "403");
  EXPECT_EQ(status_for("null"), "403");
}

TEST(HttpServer, RefusesOversizedBodiesAndHeaders) {
  Bundle b({.body_max = 1000});
  const RawConnection body(b.server->url());
  body.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_THAT(body.receive_until("<never>"), StartsWith("HTTP/1.1 413 "));
  const RawConnection header(b.server->url());
  header.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(20'000, 'x'));
  EXPECT_THAT(header.receive_until("<never>"), StartsWith("HTTP/1.1 431 "));
}

TEST(HttpServer, RefusesRequestsThatAreNotHttp) {
  Bundle b;
  const RawConnection raw(b.server->url());
  raw.send(std::string("\x16\x03\x01\x02\x00 no http at all\r\n\r\n", 24));
  EXPECT_THAT(raw.receive_until("<never>"), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(b.get("/").value().status, 200);
}

TEST(HttpServer, RefusesABodyWhoseEndIsUncertain) {
  Bundle b;
  for (const char* head : {"HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\nContent-Length: 5\r\n",
                           "HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n",
                           "HTTP/1.1\r\nTransfer-Encoding: xchunked\r\nContent-Length: 5\r\n",
                           "HTTP/1.0\r\nTransfer-Encoding: chunked\r\n"}) {
    SCOPED_TRACE(head);
    const RawConnection raw(b.server->url());
    raw.send("POST / " + std::string{head} + "Host: localhost\r\n\r\n0\r\n\r\n");
    const std::string answer = raw.receive_until("\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 "));
  }
}

TEST(HttpServer, ClosesAConnectionThatTakesTooLong) {
  Bundle b({.head_patience = milliseconds{50}, .patience = milliseconds{50}});
  const RawConnection head(b.server->url());
  head.send("GET / HTTP/1.1\r\nHost:");
  EXPECT_EQ(head.receive_until("<never>"), "<closed>");
  const RawConnection body(b.server->url());
  body.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n1234");
  EXPECT_EQ(body.receive_until("<never>"), "<closed>");
}

TEST(HttpServer, RefusesEndlessHeadsChunkExtensionsAndTrailers) {
  Bundle b;
  const std::string chunked =
      "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string lines = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  for (const auto& [begin, repeated, status] :
       {std::tuple{chunked + "5;x=", std::string(1000, 'x'), "HTTP/1.1 400 "},
        std::tuple{chunked + "0\r\n", "X: " + std::string(995, 'x') + "\r\n", "HTTP/1.1 400 "},
        std::tuple{lines, "X: " + std::string(995, 'x') + "\r\n", "HTTP/1.1 431 "}}) {
    SCOPED_TRACE(begin);
    const RawConnection raw(b.server->url());
    raw.send(begin);
    for (int i = 0; i < 17; ++i) {
      raw.send(repeated);
      std::this_thread::yield();  // Fields that arrive alone are not counted by Beast.
    }
    EXPECT_THAT(raw.receive_until("<never>"), StartsWith(status));
  }
  EXPECT_EQ(b.get("/").value().status, 200);
}

TEST(HttpServer, RefusesAHeadWithTooManyFields) {
  Bundle b;
  const RawConnection raw(b.server->url());
  std::string fields;
  for (int i = 0; i < 100; ++i) fields += "X" + std::to_string(i) + ":\r\n";
  raw.send("GET / HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n");
  EXPECT_THAT(raw.receive_until("<never>"), StartsWith("HTTP/1.1 431 "));
}

TEST(HttpServer, AnswersARefusedHeadWithoutReadingTheBody) {
  Bundle b({.check_head = [](const HttpCall& head) -> std::optional<HttpResponse> {
    if (head.headers.contains("authorization")) return std::nullopt;
    return HttpResponse{.status = 401, .body = "no token"};
  }});
  const RawConnection raw(b.server->url());
  raw.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
  const std::string refused = raw.receive_until("<never>");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(refused, EndsWith("no token<closed>"));
  raw.send(std::string(500'000, 'x'));  // It is dropped, and does not reset the connection.
  const RawConnection empty(b.server->url());
  empty.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(empty.receive_until("no token"), StartsWith("HTTP/1.1 401 "));
  empty.send("GET /a HTTP/1.1\r\nHost: localhost\r\nAuthorization: x\r\n\r\n");
  EXPECT_THAT(empty.receive_until("GET /a"), StartsWith("HTTP/1.1 200 "));
}

TEST(HttpServer, BodiesOfAllConnectionsShareOneLimit) {
  Bundle b({.bytes_max = 1'500'000});
  const RawConnection one(b.server->url());
  const RawConnection other(b.server->url());
  for (const RawConnection* each : {&one, &other}) {
    each->send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" +
               std::string(900'000, 'x'));
  }
  std::array<std::string, 2> answers;
  for (int i = 0; i < 1000 && answers[0].empty() && answers[1].empty(); ++i) {
    answers = {one.receive_now(), other.receive_now()};
    std::this_thread::sleep_for(milliseconds{10});
  }
  EXPECT_NE(answers[0].empty(), answers[1].empty());
  const std::string refused = answers[0] + answers[1];
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(refused, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_EQ(b.get("/small").value().status, 200);
  const RawConnection& accepted = answers[0].empty() ? one : other;
  accepted.send(std::string(100'000, 'x'));
  EXPECT_THAT(accepted.receive_until("POST"), StartsWith("HTTP/1.1 200 "));
}

TEST(HttpServer, KeepsConnectionsForSomePaths) {
  Bundle b({.connections_max = 10, .kept_paths = {"/healthz"}});
  std::vector<std::unique_ptr<RawConnection>> idle;
  for (int i = 0; i < 40; ++i) idle.push_back(std::make_unique<RawConnection>(b.server->url()));
  EXPECT_EQ(b.get("/healthz?x").value().status, 200);
  EXPECT_EQ(b.get("/other").value().status, 503);
}

TEST(HttpServer, AnswersBesideManyIdleConnectionsUpToItsLimit) {
  Bundle b({.connections_max = 200});
  std::vector<std::unique_ptr<RawConnection>> idle;
  for (int i = 0; i < 199; ++i) idle.push_back(std::make_unique<RawConnection>(b.server->url()));
  // They are accepted in order, so that the last one's answer speaks for all.
  idle.back()->send("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(idle.back()->receive_until("GET /x"), StartsWith("HTTP/1.1 200 "));
  const RawConnection last(b.server->url());
  last.send("GET /y HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(last.receive_until("GET /y"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(b.get("/").value().status, 503);
}

TEST(HttpServer, OneAddressCannotTakeAllConnections) {
  Bundle b({.connections_max = 20, .connections_per_peer = 10});
  std::vector<std::unique_ptr<RawConnection>> idle;
  for (int i = 0; i < 20; ++i) idle.push_back(std::make_unique<RawConnection>(b.server->url()));
  EXPECT_THAT(idle.back()->receive_until("<never>"), StartsWith("HTTP/1.1 503 "));
  const RawConnection other(b.server->url(), "127.0.0.2");
  other.send("GET /y HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(other.receive_until("GET /y"), StartsWith("HTTP/1.1 200 "));
}

// The numbers that docs/guide/xxl-job-executors.md tells.
TEST(HttpServer, AllowsOneAddress2048Of4096Connections) {
  rlimit descriptors{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &descriptors), 0);
  descriptors.rlim_cur = descriptors.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &descriptors), 0);
  if (descriptors.rlim_cur < 4500) GTEST_SKIP() << "too few descriptors: both ends are here";
  EXPECT_EQ(HttpServerConfig{}.connections_max, 4096U);
  Bundle b;
  std::vector<std::unique_ptr<RawConnection>> idle;
  for (int i = 0; i < 2048; ++i) idle.push_back(std::make_unique<RawConnection>(b.server->url()));
  idle.back()->send("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(idle.back()->receive_until("GET /x"), StartsWith("HTTP/1.1 200 "));
  const RawConnection one_more(b.server->url());
  EXPECT_THAT(one_more.receive_until("<never>"), StartsWith("HTTP/1.1 503 "));
  const RawConnection other(b.server->url(), "127.0.0.2");
  other.send("GET /y HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(other.receive_until("GET /y"), StartsWith("HTTP/1.1 200 "));
}

TEST(HttpServer, AcceptsAnyHostNameForTargetsThatRequireASecret) {
  Bundle b({.any_name_for = [](std::string_view target) { return target == "/api"; }});
  const auto status_of = [&](const std::string& target) {
    const RawConnection raw(b.server->url());
    raw.send("GET " + target + " HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    return raw.receive_until("<never>").substr(9, 3);
  };
  EXPECT_EQ(status_of("/api"), "200");
  EXPECT_EQ(status_of("/metrics"), "403");
}

TEST(HttpServer, ExplainsWhyItCannotListen) {
  Bundle b;
  const std::string taken = b.server->url().substr(7);
  const auto second = HttpServer::open(taken, {}, [](HttpCall, HttpResponder) {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().message,
            "cannot listen on http://" + taken +
                ": address in use (is another server running? choose another with --http)");
  const auto name = HttpServer::open("example.org:80", {}, [](HttpCall, HttpResponder) {});
  ASSERT_FALSE(name.ok());
  EXPECT_THAT(name.error().message, HasSubstr("'example.org' is not an address"));
}

TEST(HttpClient, TruncatesALongBody) {
  Bundle b;
  const auto reply = b.get("/large");
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_TRUE(reply.value().body_cut);
  EXPECT_THAT(reply.value().body, SizeIs(kBodyMax));
}

TEST(HttpClient, GivesUpAfterItsTimeout) {
  Bundle b;
  const auto reply = send_http({.url = b.url("/later")}, milliseconds{100}, kBodyMax, b.cancelled);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::kTimeout);
  b.waiting.take();
}

TEST(HttpClient, StopsWhenCancelled) {
  Bundle b;
  const auto other = Thread::start("canceller", [&] {
    b.waiting.wait();
    b.cancelled = true;
  });
  ASSERT_TRUE(other.ok());
  const auto reply = b.get("/later");
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error(), (Error{ErrorCode::kUnavailable, "stopped"}));
}

TEST(HttpClient, CallsOnlyAllowedAddresses) {
  Bundle b;
  const auto send = [&](const std::string& url, const AddressGuard& guard) {
    return send_http({.url = url}, seconds{10}, kBodyMax, b.cancelled, {}, guard);
  };
  const std::string port = b.server->url().substr(b.server->url().rfind(':'));
  const AddressGuard others = AddressGuard::only({"10.0.0.0/8"}).value();
  for (const char* host : {"127.0.0.1", "localhost", "2130706433", "[::1]"}) {
    const auto refused = send("http://" + std::string{host} + port, others);
    ASSERT_FALSE(refused.ok()) << host;
    EXPECT_EQ(refused.error().code, ErrorCode::kDenied) << host << refused.error().message;
  }
  EXPECT_TRUE(send("http://localhost" + port, AddressGuard::only({"127.0.0.0/8"}).value()).ok());
  const auto metadata = send("http://169.254.169.254/latest/meta-data/", {});
  ASSERT_FALSE(metadata.ok());
  EXPECT_THAT(metadata.error().message, HasSubstr("link-local or metadata address"));
}

TEST(HttpClient, ReportsTheReasonOfAFailure) {
  Bundle b;
  const std::string url = b.url("/");
  b.server.reset();
  const auto refused = send_http({.url = url}, seconds{5}, kBodyMax, b.cancelled);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("connect"));
  const auto file = send_http({.url = "file:///etc/passwd"}, seconds{5}, kBodyMax, b.cancelled);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace carillon::net
