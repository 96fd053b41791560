#include "tests/support/tcp_proxy.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "carillon/abort.h"
#include "tests/support/loopback.h"

namespace carillon::testing {
namespace {

constexpr std::size_t kBufferBytes = 64 << 10;

void prepare(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(socket, F_SETFL, O_NONBLOCK);
}

// Sends what it can of `pending`; false when the receiver is gone.
bool flush(int socket, std::string& pending) {
  while (!pending.empty()) {
    const auto sent = ::send(socket, pending.data(), pending.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    pending.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

// A client's connection and ours to the target.
struct TcpProxy::Link {
  Link(int client_socket, int server_socket) : client(client_socket), server(server_socket) {}
  ~Link() {
    ::close(client);
    ::close(server);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  int client;
  int server;
  std::string to_server{};
  std::string to_client{};
  std::string seen{};           // the client's last bytes, for a trigger cut in two by the network
  bool swallow_answer = false;  // cut when the server answers
  bool client_half_closed = false;
  bool done = false;
};

TcpProxy::TcpProxy(std::uint16_t target_port) : target_port_(target_port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = loopback(0);
  socklen_t length = sizeof address;
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 64) != 0 || ::pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0) {
    abort_with("cannot open a proxy", std::strerror(errno));
  }
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  ::fcntl(listener_, F_SETFL, O_NONBLOCK);
  thread_ = std::thread{[this] { run(); }};
}

TcpProxy::~TcpProxy() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  wake();
  thread_.join();
  ::close(listener_);
  ::close(wake_[0]);
  ::close(wake_[1]);
}

void TcpProxy::wake() {
  // A full pipe wakes as well.
  [[maybe_unused]] const auto written = ::write(wake_[1], "w", 1);
}

void TcpProxy::cut() {
  const std::lock_guard lock{mutex_};
  for (auto& link : links_) {
    ::shutdown(link->client, SHUT_RDWR);
    ::shutdown(link->server, SHUT_RDWR);
    link->done = true;
  }
  wake();
}

void TcpProxy::refuse(bool on) {
  const std::lock_guard lock{mutex_};
  refusing_ = on;
}

void TcpProxy::stall(bool on) {
  const std::lock_guard lock{mutex_};
  stalled_ = on;
  wake();
}

void TcpProxy::half_close() {
  const std::lock_guard lock{mutex_};
  for (auto& link : links_) {
    ::shutdown(link->client, SHUT_WR);
    link->client_half_closed = true;
  }
  wake();
}

void TcpProxy::cut_when(std::string client_bytes, When when) {
  const std::lock_guard lock{mutex_};
  trigger_ = std::move(client_bytes);
  when_ = when;
}

void TcpProxy::accept_client() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = loopback(target_port_);
  // On loopback this answers at once, one way or the other.
  if (refusing_ ||
      ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(client);
    ::close(server);
    return;
  }
  prepare(client);
  prepare(server);
  links_.push_back(std::make_unique<Link>(client, server));
}

bool TcpProxy::watch(Link& link, const char* bytes, std::size_t count) {
  link.to_server.append(bytes, count);
  if (trigger_.empty()) return true;
  link.seen.append(bytes, count);
  if (link.seen.find(trigger_) != std::string::npos) {
    trigger_.clear();
    if (when_ == When::kBeforeForwarding) {
      ++cuts_;
      return false;
    }
    link.swallow_answer = true;
    return true;
  }
  const auto kept = trigger_.size() - 1;
  if (link.seen.size() > kept) link.seen.erase(0, link.seen.size() - kept);
  return true;
}

void TcpProxy::forward(Link& link) {
  std::array<char, kBufferBytes> buffer;
  if (link.to_server.empty()) {
    const auto count = ::recv(link.client, buffer.data(), buffer.size(), 0);
    if (count > 0) {
      link.done = !watch(link, buffer.data(), static_cast<std::size_t>(count));
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      link.done = true;
    }
  }
  if (link.done) return;
  if (link.to_client.empty()) {
    const auto count = ::recv(link.server, buffer.data(), buffer.size(), 0);
    if (count > 0 && link.swallow_answer) {
      ++cuts_;
      link.done = true;
    } else if (count > 0 && !link.client_half_closed) {
      link.to_client.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
      link.done = true;
    }
  }
  if (link.done) return;
  if (!flush(link.server, link.to_server) || !flush(link.client, link.to_client)) link.done = true;
}

void TcpProxy::run() {
  std::unique_lock lock{mutex_};
  while (!stopping_) {
    std::erase_if(links_, [](const auto& link) { return link->done; });
    std::vector<pollfd> waits{{wake_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const auto& link : links_) {
      if (stalled_) break;
      // One side's bytes wait in the network until the other side has taken the last ones.
      const auto events = [](bool read, bool write) {
        return static_cast<short>((read ? POLLIN : 0) | (write ? POLLOUT : 0));
      };
      waits.push_back({link->client, events(link->to_server.empty(), !link->to_client.empty()), 0});
      waits.push_back({link->server, events(link->to_client.empty(), !link->to_server.empty()), 0});
    }
    lock.unlock();
    ::poll(waits.data(), waits.size(), -1);
    lock.lock();
    std::array<char, 64> ignored;
    while (::read(wake_[0], ignored.data(), ignored.size()) > 0) {
    }
    if ((waits[1].revents & POLLIN) != 0) accept_client();
    for (auto& link : links_) {
      if (!stalled_ && !link->done) forward(*link);
    }
  }
}

}  // namespace carillon::testing
