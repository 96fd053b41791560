#include "tests/support/raw_connection.h"

#include <array>
#include <cstdint>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace carillon::testing {

RawConnection::RawConnection(const std::string& url, const char* from)
    : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::inet_addr(from);
  EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
}

RawConnection::~RawConnection() { ::close(fd_); }

void RawConnection::send(std::string_view bytes) const {
  EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

std::string RawConnection::receive_now() const {
  std::array<char, 4096> buffer{};
  const auto got = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  return got <= 0 ? "" : std::string(buffer.data(), static_cast<std::size_t>(got));
}

std::string RawConnection::receive_until(const std::string& end) const {
  std::string received;
  std::array<char, 4096> buffer{};
  pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
  while (received.find(end) == std::string::npos && ::poll(&waiting, 1, 10'000) > 0) {
    const auto got = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (got <= 0) return received + "<closed>";
    received.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return received;
}

}  // namespace carillon::testing
