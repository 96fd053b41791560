#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/stat.h>

#include "shared/net/http/http_client.h"
#include "shared/net/http/http_server.h"
#include "shared/net/http/tls_stream.h"
#include "tests/support/raw_connection.h"
#include "tests/support/tls_conversation.h"

namespace carillon::net {
namespace {

using ::carillon::testing::Certificate;
using ::carillon::testing::RawConnection;
using ::carillon::testing::TempFolder;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::size_t kAnswerMax = 4'000'000;

// A ClientHello of 508 bytes, of which only the first arrive.
constexpr std::string_view kHalfAHello{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11};

// A server with a certificate in files of its own, which can be changed.
struct SecureServer {
  explicit SecureServer(HttpServerConfig config = {}, const std::string& names = "IP:127.0.0.1")
      : first(names) {
    use(first);
    config.access = {.certificate = folder.file("cert.pem"), .key = folder.file("key.pem")};
    server = HttpServer::open(
                 "127.0.0.1:0", config,
                 [](const HttpCall& call, const HttpResponder& responder) {
                   if (call.target == "/large")
                     return responder.send({.body = std::string(3'000'000, 'x')});
                   responder.send({.body = call.method + " " + call.target + " " +
                                           std::to_string(call.body.size()) + " " + call.peer +
                                           (call.is_encrypted ? " encrypted" : " plain")});
                 })
                 .value();
  }

  void use(const Certificate& certificate) const {
    constexpr auto kReplace = std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy_file(certificate.file(), folder.file("cert.pem"), kReplace);
    std::filesystem::copy_file(certificate.key_file(), folder.file("key.pem"), kReplace);
  }
  Result<HttpReply> ask(HttpRequest request, const Certificate& trusted) const {
    const std::atomic<bool> cancelled{false};
    request.url = server->url() + request.url;
    return send_http(request, seconds{10}, kAnswerMax, cancelled, trusted.file());
  }
  Result<HttpReply> get(const std::string& target) const { return ask({.url = target}, first); }

  TempFolder folder;
  Certificate first;
  std::unique_ptr<HttpServer> server;
};

// A client that keeps its connection.
struct TlsClient {
  TlsClient(const SecureServer& to, const Certificate& trusted, const char* from = "127.0.0.1",
            int version_max = 0)
      : connection(to.server->url(), from),
        context(TlsContext::open(trusted.file(), "--ca").value()) {
    if (version_max != 0) {
      SSL_CTX_set_min_proto_version(context.get(), TLS1_VERSION);
      SSL_CTX_set_max_proto_version(context.get(), version_max);
      SSL_CTX_set_cipher_list(context.get(), "DEFAULT:@SECLEVEL=0");
    }
    tls = std::make_unique<TlsStream>(context, connection.fd(), "127.0.0.1");
    is_open = tls->handshake() == TlsStream::Step::kDone;
  }

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const TlsStream::Moved moved = tls->write(bytes.data(), bytes.size());
      ASSERT_EQ(moved.step, TlsStream::Step::kDone) << tls->error();
      bytes.remove_prefix(moved.bytes);
    }
  }
  // What comes until `end` has come or the other end closes.
  std::string read_until(const std::string& end) const {
    std::string received;
    std::array<char, 4096> buffer{};
    while (received.find(end) == std::string::npos) {
      const TlsStream::Moved moved = tls->read(buffer.data(), buffer.size());
      if (moved.step == TlsStream::Step::kEnd) return received + "<closed>";
      if (moved.step != TlsStream::Step::kDone) return received + "<broken>";
      received.append(buffer.data(), moved.bytes);
    }
    return received;
  }
  std::string ask(const std::string& target) const {
    write("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return read_until("encrypted");
  }

  RawConnection connection;
  TlsContext context;
  std::unique_ptr<TlsStream> tls;
  bool is_open = false;
};

TEST(HttpsServer, AnswersOverTls) {
  const SecureServer s;
  EXPECT_THAT(s.server->url(), StartsWith("https://127.0.0.1:"));
  const auto reply =
      s.ask({.method = "POST", .url = "/x?y", .body = std::string(2'000'000, 'b')}, s.first);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply.value().body, "POST /x?y 2000000 127.0.0.1 encrypted");
  EXPECT_EQ(s.get("/large").value().body.size(), 3'000'000U);
}

TEST(HttpsServer, AnswersSeveralRequestsOnOneConnection) {
  const SecureServer s;
  const TlsClient client(s, s.first);
  ASSERT_TRUE(client.is_open) << client.tls->error();
  for (const char* target : {"/a", "/b", "/c"})
    EXPECT_THAT(client.ask(target), HasSubstr(std::string{"GET "} + target));
  // Two at once.
  client.write(
      "GET /d HTTP/1.1\r\nHost: localhost\r\n\r\n"
      "HEAD /e HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.read_until("<never>"),
              AllOf(HasSubstr("GET /d"), EndsWith("\r\n\r\n<closed>")));
}

TEST(HttpsServer, NeedsTls12) {
  const SecureServer s;
  EXPECT_TRUE(TlsClient(s, s.first, "127.0.0.1", TLS1_2_VERSION).is_open);
  EXPECT_TRUE(TlsClient(s, s.first, "127.0.0.1", TLS1_3_VERSION).is_open);
  EXPECT_FALSE(TlsClient(s, s.first, "127.0.0.1", TLS1_1_VERSION).is_open);
}

TEST(HttpsServer, ClosesAClientThatSpeaksPlainHttp) {
  const SecureServer s;
  const RawConnection plain(s.server->url());
  plain.send("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(plain.receive_until("<never>"),
              AllOf(Not(HasSubstr("HTTP/1.1")), EndsWith("<closed>")));
}

TEST(HttpsServer, ClosesAClientThatTakesTooLong) {
  const SecureServer s({.head_patience = milliseconds{300}});
  const RawConnection silent(s.server->url());
  const RawConnection stalled(s.server->url());
  stalled.send(kHalfAHello);
  EXPECT_EQ(silent.receive_until("<never>"), "<closed>");
  EXPECT_EQ(stalled.receive_until("<never>"), "<closed>");
  const TlsClient client(s, s.first);
  client.write("GET /x HTTP/1.1\r\n");
  EXPECT_EQ(client.read_until("<never>"), "<closed>");
}

TEST(HttpsServer, AnswersARefusedRequestBeforeItCloses) {
  const SecureServer s({.body_max = 1000});
  const TlsClient client(s, s.first);
  client.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000\r\n\r\n" +
               std::string(400'000, 'x'));
  EXPECT_THAT(client.read_until("<never>"), StartsWith("HTTP/1.1 413 "));
}

TEST(HttpsServer, BodiesOfAllConnectionsShareOneLimit) {
  const SecureServer s({.bytes_max = 300'000});
  const TlsClient one(s, s.first);
  const TlsClient other(s, s.first);
  std::array<pollfd, 2> answered{};
  for (const TlsClient* each : {&one, &other}) {
    EXPECT_THAT(each->ask("/small"), HasSubstr("GET /small"));  // Reads what TLS sends by itself.
    answered[each == &one ? 0 : 1] = {.fd = each->connection.fd(), .events = POLLIN, .revents = 0};
    each->write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 250000\r\n\r\n" +
                std::string(200'000, 'x'));
  }
  ASSERT_EQ(::poll(answered.data(), answered.size(), 10'000), 1);
  const bool is_one_refused = answered[0].revents != 0;
  EXPECT_THAT((is_one_refused ? one : other).read_until("<never>"), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(s.get("/small").value().status, 200);
  const TlsClient& accepted = is_one_refused ? other : one;
  accepted.write(std::string(50'000, 'x'));
  EXPECT_THAT(accepted.read_until("encrypted"), HasSubstr("POST / 250000"));
}

TEST(HttpsServer, KeepsConnectionsForSomePaths) {
  const SecureServer s({.connections_max = 10, .kept_paths = {"/healthz"}});
  std::vector<std::unique_ptr<RawConnection>> idle;
  for (int i = 0; i < 40; ++i) idle.push_back(std::make_unique<RawConnection>(s.server->url()));
  EXPECT_EQ(s.get("/healthz").value().status, 200);
  EXPECT_EQ(s.get("/other").value().status, 503);
}

TEST(HttpsServer, ClosesConnectionsBeyondItsLimits) {
  const SecureServer s({.connections_per_peer = 10});
  std::vector<std::unique_ptr<RawConnection>> idle;
  for (int i = 0; i < 11; ++i) idle.push_back(std::make_unique<RawConnection>(s.server->url()));
  EXPECT_EQ(idle.back()->receive_until("<never>"), "<closed>");
  const TlsClient other(s, s.first, "127.0.0.2");
  EXPECT_THAT(other.ask("/x"), HasSubstr("GET /x 0 127.0.0.2"));
}

TEST(HttpsServer, StalledHandshakesOfOneAddressDelayNoOther) {
  const SecureServer s;
  std::vector<std::unique_ptr<RawConnection>> stalled;
  for (int i = 0; i < 300; ++i) {
    stalled.push_back(std::make_unique<RawConnection>(s.server->url(), "127.0.0.2"));
    stalled.back()->send(kHalfAHello);
  }
  const TlsClient other(s, s.first);
  EXPECT_THAT(other.ask("/x"), HasSubstr("GET /x"));
  // Those of this address wait for their turn.
  auto next = std::make_unique<RawConnection>(s.server->url(), "127.0.0.2");
  next->send("no TLS, which is noticed when it is read");
  EXPECT_EQ(next->receive_now(), "");
  stalled.clear();
  EXPECT_THAT(next->receive_until("<never>"), EndsWith("<closed>"));
}

TEST(HttpsServer, MayStopDuringHandshakes) {
  auto s = std::make_unique<SecureServer>();
  std::vector<std::unique_ptr<RawConnection>> stalled;
  for (int i = 0; i < 200; ++i) {
    stalled.push_back(std::make_unique<RawConnection>(s->server->url()));
    stalled.back()->send(kHalfAHello);
  }
  const TlsClient reads(*s, s->first, "127.0.0.2");
  reads.write("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(reads.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  s.reset();
}

TEST(HttpsServer, NewConnectionsUseARenewedCertificate) {
  const SecureServer s;
  const Certificate renewed("IP:127.0.0.1");
  const TlsClient before(s, s.first);
  EXPECT_THAT(before.ask("/a"), HasSubstr("GET /a"));
  s.use(renewed);
  EXPECT_FALSE(s.ask({.url = "/"}, renewed).ok());
  ASSERT_TRUE(s.server->reload_certificate().ok());
  EXPECT_THAT(before.ask("/b"), HasSubstr("GET /b"));
  EXPECT_TRUE(s.ask({.url = "/"}, renewed).ok());
  EXPECT_FALSE(s.get("/").ok());
}

TEST(HttpsServer, KeepsItsCertificateIfTheNewOneIsWrong) {
  const SecureServer s;
  const Certificate other("IP:127.0.0.1");
  std::filesystem::copy_file(other.file(), s.folder.file("cert.pem"),
                             std::filesystem::copy_options::overwrite_existing);
  const Status reloaded = s.server->reload_certificate();
  ASSERT_FALSE(reloaded.ok());
  EXPECT_THAT(reloaded.error().message, HasSubstr("does not belong to the certificate"));
  EXPECT_EQ(s.get("/x").value().status, 200);
}

TEST(HttpsServer, AcceptsTheNamesInItsCertificate) {
  const SecureServer s({}, "IP:127.0.0.1,DNS:jobs.example,DNS:*.pages.example");
  const auto status_for = [&](const std::string& host) {
    return s.ask({.url = "/", .headers = {{"Host", host}}}, s.first).value().status;
  };
  for (const char* host : {"jobs.example", "JOBS.example:8443", "a.pages.example", "localhost"})
    EXPECT_EQ(status_for(host), 200) << host;
  for (const char* host : {"evil.example", "jobs.example.evil", "127.0.0.9"})
    EXPECT_EQ(status_for(host), 403) << host;
  EXPECT_TRUE(s.server->is_certified_for("jobs.example"));
  EXPECT_FALSE(s.server->is_certified_for("127.0.0.2"));
}

// What is wrong with two files.
std::string refusal_of(const std::string& certificate, const std::string& key) {
  const auto opened =
      HttpServer::open("127.0.0.1:0", {.access = {.certificate = certificate, .key = key}},
                       [](const HttpCall&, const HttpResponder&) {});
  return opened.ok() ? "" : opened.error().message;
}

TEST(HttpsServer, ExplainsWhatIsWrongWithItsFiles) {
  const Certificate one("IP:127.0.0.1");
  const Certificate other("IP:127.0.0.1");
  EXPECT_EQ(refusal_of(one.file(), one.key_file()), "");
  const TempFolder folder;
  const std::string both = folder.file("both.pem");
  std::ofstream(both) << std::ifstream(one.file()).rdbuf() << std::ifstream(one.key_file()).rdbuf();
  ASSERT_EQ(::chmod(both.c_str(), 0600), 0);
  EXPECT_EQ(refusal_of(both, both), "");
  EXPECT_THAT(refusal_of("/nowhere/cert.pem", one.key_file()),
              HasSubstr("--http-cert /nowhere/cert.pem cannot be read: No such file"));
  EXPECT_THAT(refusal_of(one.file(), "/nowhere/key.pem"),
              HasSubstr("--http-key: /nowhere/key.pem cannot be read: No such file"));
  EXPECT_THAT(refusal_of(one.key_file(), one.key_file()),
              HasSubstr("--http-cert " + one.key_file() + " is not a usable certificate"));
  EXPECT_THAT(refusal_of(one.file(), other.key_file()),
              AllOf(HasSubstr("--http-key " + other.key_file()),
                    HasSubstr("does not belong to the certificate in --http-cert " + one.file())));
  ASSERT_EQ(::chmod(other.file().c_str(), 0600), 0);
  EXPECT_THAT(refusal_of(one.file(), other.file()),
              HasSubstr("--http-key " + other.file() + " is not a private key"));
  ASSERT_EQ(::chmod(one.key_file().c_str(), 0644), 0);
  EXPECT_THAT(refusal_of(one.file(), one.key_file()),
              AllOf(StartsWith("--http-key: "), HasSubstr("every user")));
}

// What a server behind a proxy at 127.0.0.2 says of a request.
std::string said_behind_proxy(const char* from, const std::string& headers) {
  const auto server =
      HttpServer::open(
          "127.0.0.1:0", {.access = {.proxies = {"127.0.0.2/32"}}},
          [](const HttpCall& call, const HttpResponder& responder) {
            responder.send({.body = call.peer + (call.is_encrypted ? " encrypted" : " plain")});
          })
          .value();
  const RawConnection connection(server->url(), from);
  connection.send("GET / HTTP/1.1\r\n" + headers + "Connection: close\r\n\r\n");
  const std::string answer = connection.receive_until("<never>");
  return answer.substr(answer.rfind('\n') + 1);
}

TEST(HttpServerBehindProxy, BelievesTheProxy) {
  const std::string host = "Host: jobs.example\r\n";
  EXPECT_EQ(said_behind_proxy("127.0.0.2", host), "127.0.0.2 plain<closed>");
  EXPECT_EQ(said_behind_proxy("127.0.0.2", host + "X-Forwarded-For: 10.0.0.1, 203.0.113.9\r\n"
                                                  "X-Forwarded-Proto: https\r\n"),
            "203.0.113.9 encrypted<closed>");
  EXPECT_EQ(said_behind_proxy("127.0.0.2",
                              "Host: upstream\r\nX-Forwarded-Host: jobs.example\r\n"
                              "Origin: https://jobs.example\r\n"),
            "127.0.0.2 plain<closed>");
  EXPECT_THAT(said_behind_proxy("127.0.0.2", host + "Origin: https://evil.example\r\n"),
              Not(HasSubstr("plain")));
}

TEST(HttpServerBehindProxy, BelievesNoOther) {
  EXPECT_EQ(said_behind_proxy("127.0.0.1",
                              "Host: localhost\r\nX-Forwarded-For: 203.0.113.9\r\n"
                              "X-Forwarded-Proto: https\r\n"),
            "127.0.0.1 plain<closed>");
  EXPECT_THAT(said_behind_proxy("127.0.0.1", "Host: jobs.example\r\n"), Not(HasSubstr("plain")));
}

}  // namespace
}  // namespace carillon::net
