#include "tests/support/scripted_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "carillon/abort.h"
#include "tests/support/loopback.h"

namespace carillon::testing {
namespace {

constexpr int kPatienceMs = 10'000;

// What came, empty at the end of the connection.
std::string receive(int fd) {
  pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
  if (::poll(&waiting, 1, kPatienceMs) <= 0) return {};
  std::array<char, 65536> buffer{};
  const auto got = ::recv(fd, buffer.data(), buffer.size(), 0);
  return got <= 0 ? std::string{} : std::string{buffer.data(), static_cast<std::size_t>(got)};
}

std::size_t body_bytes(const std::string& head) {
  constexpr std::string_view kName = "Content-Length: ";
  const std::size_t at = head.find(kName);
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + kName.size()));
}

}  // namespace

std::string Conversation::read_request() {
  while (true) {
    const std::size_t head = rest_.find("\r\n\r\n");
    if (head != std::string::npos) {
      const std::size_t whole = head + 4 + body_bytes(rest_.substr(0, head));
      if (rest_.size() >= whole) {
        std::string request = rest_.substr(0, whole);
        rest_.erase(0, whole);
        return request;
      }
    }
    const std::string more = receive(fd_);
    if (more.empty()) return {};
    rest_ += more;
  }
}

void Conversation::write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // The other end has what it wanted.
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void Conversation::answer(std::string_view body, const std::string& further_headers) const {
  write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
        further_headers + "\r\n" + std::string{body});
}

void Conversation::wait_for_close() const {
  while (!receive(fd_).empty()) {
  }
}

void Conversation::reset() const {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

ScriptedServer::ScriptedServer(Script script)
    : script_(std::move(script)), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(fd_, 1024) != 0 ||
      ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    abort_with("cannot open a server for a test", std::strerror(errno));
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept(); });
}

ScriptedServer::~ScriptedServer() {
  ::shutdown(fd_, SHUT_RDWR);
  acceptor_.join();
  ::close(fd_);
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    for (const int one : open_) ::shutdown(one, SHUT_RDWR);
    threads = std::move(threads_);
  }
  for (std::thread& one : threads) one.join();
}

std::string ScriptedServer::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

void ScriptedServer::accept() {
  while (true) {
    const int connection = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    const int number = ++connections_;
    const MutexLock lock(mutex_);
    open_.push_back(connection);
    threads_.emplace_back([this, connection, number] {
      Conversation conversation(connection, number);
      script_(conversation);
      const MutexLock closing(mutex_);
      open_.erase(std::find(open_.begin(), open_.end(), connection));
      ::close(connection);
    });
  }
}

}  // namespace carillon::testing
