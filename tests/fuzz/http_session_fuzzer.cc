#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/ip/address_v4.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/base/assert.h"
#include "shared/base/log.h"
#include "shared/base/utf8.h"
#include "shared/net/http/http_session.h"
#include "tests/fuzz/expanded.h"
#include "tests/support/loopback.h"

namespace carillon::net {
namespace {

constexpr std::size_t kBodyMax = 2000;
constexpr std::size_t kHeadMax = 16 * 1024;
constexpr std::size_t kFieldsMax = 100;
// A buffer, the fields of a head twice, and the body.
constexpr std::size_t kHeldMax = 16 * 1024 + 4 * kHeadMax + kBodyMax;

// One connection after the other, to the sessions of a server without a thread.
class Server {
 public:
  Server()
      : parts_(std::make_shared<HttpServerParts>(
            HttpServerConfig{
                .names = {"node1"},
                .body_max = kBodyMax,
                .kept_paths = {"/healthz"},
                .check_head = [this](const HttpCall& head) { return check_head(head); }},
            [this](HttpCall call, const HttpResponder& responder) { take(call, responder); })) {
    set_log_level(LogLevel::kOff);
    auto& acceptor = parts_->acceptor;
    acceptor.open(boost::asio::ip::tcp::v4());
    acceptor.bind({boost::asio::ip::address_v4::loopback(), 0});
    acceptor.listen();
    port_ = acceptor.local_endpoint().port();
  }

  void serve(std::string_view bytes, std::size_t piece, HttpSession::Kind kind) {
    heads_ = calls_ = 0;
    const int client = connect();
    std::make_shared<HttpSession>(*parts_, parts_->acceptor.accept(), "127.0.0.1", kind)->start();
    run();
    std::string answers;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
      if (!send(client, bytes.substr(0, piece))) break;
      run();
      receive(client, answers);
    }
    ::shutdown(client, SHUT_WR);
    run();
    receive(client, answers);
    check(answers);
    disconnect(client);
  }

 private:
  std::optional<HttpResponse> check_head(const HttpCall& head) {
    ++heads_;
    CARILLON_ASSERT(head.body.empty(), "the body is not read before its head is checked");
    check(head);
    if (head.target != "/refused") return std::nullopt;
    return HttpResponse{.status = 401, .body = "no\n"};
  }

  void take(const HttpCall& call, const HttpResponder& responder) {
    ++calls_;
    CARILLON_ASSERT(calls_ <= heads_, "every head is checked before its call");
    CARILLON_ASSERT(call.target != "/refused", "what was refused is not called");
    CARILLON_ASSERT(call.body.size() <= kBodyMax, "no body is larger than its limit");
    check(call);
    if (call.target == "/none") return;
    responder.send({.body = call.target == "/echo" ? call.body : "ok\n"});
  }

  static void check(const HttpCall& call) {
    std::size_t bytes = call.method.size() + call.target.size();
    CARILLON_ASSERT(!call.method.empty() && !call.target.empty(), "every call says what it wants");
    CARILLON_ASSERT(call.headers.size() <= kFieldsMax, "no head has more fields than the limit");
    for (const auto& [name, value] : call.headers) {
      bytes += name.size() + value.size();
      CARILLON_ASSERT(name == lower_ascii(name), "names are compared in lower case");
      CARILLON_ASSERT(value.find_first_of(std::string_view{"\r\n\0", 3}) == std::string::npos,
                      "no value ends a line");
    }
    CARILLON_ASSERT(bytes <= kHeadMax, "no head is larger than the limit");
    const auto coding = call.headers.find("transfer-encoding");
    if (coding == call.headers.end()) return;
    // Another server in front of this one must find the same end of the request.
    CARILLON_ASSERT(
        lower_ascii(coding->second) == "chunked" && !call.headers.contains("content-length"),
        "the end of every request is known for certain");
  }

  static void check(std::string_view answers) {
    CARILLON_ASSERT(answers.empty() || answers.starts_with("HTTP/1.1 "), "it speaks HTTP");
    for (const char* code : {"200", "400", "401", "403", "413", "431", "501", "503"}) {
      if (answers.empty() || answers.substr(9, 3) == code) return;
    }
    CARILLON_ASSERT(false, "every answer has one of these codes");
  }

  // All that can be done at once. Nothing waits for its time-out.
  void run() {
    parts_->io.restart();
    while (parts_->io.poll() > 0) {
      CARILLON_ASSERT(parts_->bytes <= kHeldMax, "a request costs no more than its bounds");
    }
  }

  // From one address after the other: a port of each is free again only after a minute.
  int connect() {
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(client, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    sockaddr_in own = testing::loopback(0);
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + connections_++ % 100'000);
    ::bind(client, reinterpret_cast<const sockaddr*>(&own), sizeof own);
    const sockaddr_in address = testing::loopback(port_);
    const int done = ::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    CARILLON_ASSERT(done == 0, "the server listens");
    return client;
  }

  static bool send(int client, std::string_view bytes) {
    const ssize_t sent = ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent == static_cast<ssize_t>(bytes.size());
  }

  static void receive(int client, std::string& answers) {
    std::array<char, 65536> buffer{};
    ssize_t size = 0;
    while ((size = ::recv(client, buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0) {
      answers.append(buffer.data(), static_cast<std::size_t>(size));
    }
  }

  // At once, so that its port is free again.
  void disconnect(int client) {
    const linger none{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(client, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    ::close(client);
    for (int i = 0; i < 1000 && parts_->connections + parts_->kept_connections > 0; ++i) run();
    CARILLON_ASSERT(parts_->connections + parts_->kept_connections == 0,
                    "nothing is left of a connection that was closed");
    CARILLON_ASSERT(
        parts_->connections_of.empty() && parts_->bytes == 0 && parts_->answer_bytes == 0,
        "what a connection held is free again");
  }

  std::uint32_t connections_ = 0;
  std::size_t heads_ = 0;
  std::size_t calls_ = 0;
  const std::shared_ptr<HttpServerParts> parts_;
  std::uint16_t port_ = 0;
};

}  // namespace
}  // namespace carillon::net

// Sends bytes to a session of the HTTP server through a socket. The first byte tells of what kind
// it is and how large the pieces are. Whatever they are, bounds hold, no call escapes its check,
// and nothing is left when the connection ends. NOLINTNEXTLINE(readability-identifier-naming): the
// name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace carillon::net;  // NOLINT(google-build-using-namespace): one function
  static Server server;
  if (size == 0) return 0;
  const auto kind = data[0] % 16 == 15 ? HttpSession::Kind::kKept : HttpSession::Kind::kNormal;
  const std::string bytes = carillon::fuzz::expanded(data + 1, size - 1);
  const std::size_t piece = std::max(1 + std::size_t{data[0]} * 32, bytes.size() / 32);
  server.serve(bytes, piece, kind);
  return 0;
}
