// Responses that are sent piece by piece.
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/net/endpoint.h"
#include "shared/net/http/http_client.h"
#include "shared/net/http/http_server.h"
#include "shared/runtime/mailbox.h"

namespace carillon::net {
namespace {

using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr std::size_t kStreamBodyMax = 1'000'000;
constexpr int kPatienceMs = 10'000;

// Each call is a stream that the test writes.
struct StreamBundle {
  HttpStream next() {
    streams.wait();
    return *streams.take();
  }

  Mailbox<HttpStream> streams{16};
  std::unique_ptr<HttpServer> server =
      HttpServer::open("127.0.0.1:0", {}, [this](const HttpCall&, const HttpResponder& responder) {
        EXPECT_TRUE(streams.put(responder.stream({.content_type = "text/event-stream"})));
      }).value();
};

class StreamReader {
 public:
  explicit StreamReader(const HttpServer& server, const char* method = "GET")
      : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(parse_host_port(server.url().substr(7)).value().port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // Small, so that a reader that does not read is soon noticed.
    const int bytes = 4096;
    EXPECT_EQ(::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::string request = std::string{method} + " / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    EXPECT_EQ(::send(fd_, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
  }
  ~StreamReader() { close(); }
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  // Until `end` has come, or the other end closes.
  std::string receive_until(const std::string& end) const {
    std::string received;
    std::array<char, 4096> buffer{};
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    while (received.find(end) == std::string::npos && ::poll(&waiting, 1, kPatienceMs) > 0) {
      const auto got = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (got <= 0) return received + "<closed>";
      received.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return received;
  }

 private:
  int fd_;
};

TEST(HttpStream, SendsPiecesAsTheyCome) {
  StreamBundle b;
  const StreamReader reader(*b.server);
  const HttpStream stream = b.next();
  EXPECT_TRUE(stream.write("one"));
  EXPECT_THAT(reader.receive_until("one"), HasSubstr("text/event-stream"));
  EXPECT_TRUE(stream.write("two"));
  EXPECT_THAT(reader.receive_until("two"), HasSubstr("3\r\ntwo"));
  stream.end();
  EXPECT_FALSE(stream.write("late"));
  EXPECT_THAT(reader.receive_until("<never>"), EndsWith("0\r\n\r\n<closed>"));
}

TEST(HttpStream, EndsWithItsLastHandle) {
  StreamBundle b;
  const StreamReader reader(*b.server);
  {
    const HttpStream stream = b.next();
    EXPECT_TRUE(stream.write("all of it"));
  }
  EXPECT_THAT(reader.receive_until("<never>"), EndsWith("all of it\r\n0\r\n\r\n<closed>"));
}

TEST(HttpStream, IsReadByAnOrdinaryClient) {
  StreamBundle b;
  std::atomic<bool> cancelled{false};
  const auto writer = Thread::start("writer", [&] {
    const HttpStream stream = b.next();
    for (int i = 0; i < 1000; ++i) {
      while (stream.waiting() > kStreamBytesMax / 2) ::usleep(1000);
      EXPECT_TRUE(stream.write(std::string(500, 'x')));
    }
  });
  ASSERT_TRUE(writer.ok());
  const auto reply =
      send_http({.url = b.server->url() + "/"}, seconds{30}, kStreamBodyMax, cancelled);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply.value().body.size(), 500'000u);
}

TEST(HttpStream, AReaderThatDoesNotReadIsDropped) {
  StreamBundle b;
  const StreamReader reader(*b.server);
  const HttpStream stream = b.next();
  const std::string piece(16 * 1024, 'x');
  bool is_open = true;
  // More than all buffers of the system have room for.
  for (int i = 0; i < 10'000 && is_open; ++i) is_open = stream.write(piece);
  EXPECT_FALSE(is_open);
  EXPECT_FALSE(stream.is_open());
}

TEST(HttpStream, NoticesThatTheClientHasGone) {
  StreamBundle b;
  StreamReader reader(*b.server);
  const HttpStream stream = b.next();
  EXPECT_TRUE(stream.write("one"));
  EXPECT_THAT(reader.receive_until("one"), HasSubstr("one"));
  reader.close();
  for (int i = 0; i < kPatienceMs && stream.is_open(); ++i) ::usleep(1000);
  EXPECT_FALSE(stream.is_open());
}

TEST(HttpStream, AnAbortedOneHasNoEnd) {
  StreamBundle b;
  const StreamReader reader(*b.server);
  const HttpStream stream = b.next();
  EXPECT_TRUE(stream.write("half"));
  EXPECT_THAT(reader.receive_until("half"), HasSubstr("half"));
  stream.abort();
  EXPECT_EQ(reader.receive_until("<never>"), "<closed>");
}

TEST(HttpStream, HeadHasNoBody) {
  StreamBundle b;
  const StreamReader reader(*b.server, "HEAD");
  {
    const HttpStream stream = b.next();
    EXPECT_TRUE(stream.write("nothing of it"));
  }
  EXPECT_THAT(reader.receive_until("<never>"), EndsWith("\r\n\r\n<closed>"));
}

TEST(HttpStream, MayOutliveItsServer) {
  StreamBundle b;
  const StreamReader reader(*b.server);
  const HttpStream stream = b.next();
  b.server.reset();
  (void)stream.write("nobody reads it");  // Only that it is safe counts.
  stream.end();
}

}  // namespace
}  // namespace carillon::net
