#include "shared/net/zmq/connection_guard.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/net/self_connection.h"
#include "shared/net/zmq/socket_options.h"
#include "shared/net/zmq/socket_watch.h"

namespace carillon::net {
namespace {

constexpr const char* kMonitor = "inproc://connection-guard";
constexpr int kEventsGuarded = ZMQ_EVENT_LISTENING | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_ACCEPT_FAILED |
                               ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_MONITOR_STOPPED;
constexpr std::chrono::milliseconds kPeriod{10};             // of checks while there are handshakes
constexpr Duration kHandshakeMax = std::chrono::seconds{6};  // ZeroMQ ends them after five
constexpr Duration kFullTime = std::chrono::seconds{1};
constexpr Duration kForgetPeriod = std::chrono::seconds{1};
constexpr Duration kWarnPeriod = std::chrono::minutes{1};
constexpr std::size_t kReserve = 16;
// A client's handshake: a greeting of 64 bytes, HELLO with 202, INITIATE with less than 1000.
constexpr std::uint64_t kHandshakeBytesMax = 4096;
// What a server sends in a handshake: a greeting of 64 bytes and READY with at least 28; a CURVE
// server knows the client by then, and sends WELCOME with 170 before.
constexpr std::uint64_t kAnsweredBytes = 64 + 16;
constexpr std::uint64_t kWelcomeBytes = 170;

// The local port of a TCP socket; 0 for anything else.
in_port_t port_of(int fd) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) return 0;
  if (own.ss_family == AF_INET) return reinterpret_cast<const sockaddr_in&>(own).sin_port;
  return own.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(own).sin6_port : 0;
}

enum class Progress { kHandshake, kTooMuch, kDone };

Progress progress_of(int fd, bool is_curve) {
  tcp_info info{};
  socklen_t size = sizeof info;
  const bool is_known = ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
                        size >= offsetof(tcp_info, tcpi_bytes_received) + sizeof(std::uint64_t);
  const std::uint64_t done = kAnsweredBytes + (is_curve ? kWelcomeBytes : 0);
  if (!is_known || info.tcpi_bytes_acked > done) return Progress::kDone;
  const bool is_too_much = is_curve && info.tcpi_bytes_received > kHandshakeBytesMax;
  return is_too_much ? Progress::kTooMuch : Progress::kHandshake;
}

}  // namespace

std::size_t ConnectionGuard::most_connections() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  const auto files = static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, 1U << 20U));
  return files - std::min(files / 2, std::clamp<std::size_t>(files / 8, 128, 4096));
}

Result<std::unique_ptr<ConnectionGuard>> ConnectionGuard::start(zmq::context_t& context,
                                                                zmq::socket_ref listener,
                                                                Limits limits) {
  std::unique_ptr<ConnectionGuard> guard(new ConnectionGuard(context, listener, limits));
  if (zmq_socket_monitor(listener.handle(), kMonitor, kEventsGuarded) != 0)
    return zmq_error("cannot watch the connections", zmq::error_t());
  guard->monitor_.connect(kMonitor);
  guard->thread_ = CARILLON_TRY(Thread::start("guard", [raw = guard.get()] { raw->run(); }));
  return guard;
}

ConnectionGuard::ConnectionGuard(zmq::context_t& context, zmq::socket_ref listener, Limits limits)
    : limits_(limits), listener_(listener), monitor_(context, zmq::socket_type::pair) {
  monitor_.set(zmq::sockopt::linger, 0);
  take_reserve();
}

ConnectionGuard::~ConnectionGuard() {
  // The thread ends with the last event.
  zmq_socket_monitor(listener_.handle(), nullptr, 0);
  if (thread_) thread_->join();
  for (const int fd : reserve_) ::close(fd);
}

void ConnectionGuard::run() {
  do {
    const bool is_waiting = handshakes_.empty() && reserve_.size() == kReserve;
    zmq_pollitem_t item{.socket = monitor_.handle(), .fd = 0, .events = ZMQ_POLLIN, .revents = 0};
    (void)zmq_poll(&item, 1, is_waiting ? -1 : static_cast<long>(kPeriod.count()));
    if (!read_events()) return;
    check_handshakes();
    if (clock_.steady_now() >= full_until_) take_reserve();
  } while (true);
}

// False: there are no more.
bool ConnectionGuard::read_events() {
  zmq::message_t head;
  zmq::message_t address;
  while (receive_part(monitor_, head) && receive_part(monitor_, address)) {
    std::uint16_t event = 0;
    std::uint32_t value = 0;
    std::memcpy(&event, head.data(), sizeof event);
    std::memcpy(&value, head.data<char>() + sizeof event, sizeof value);
    if (!handle(event, static_cast<int>(value))) return false;
  }
  return true;
}

bool ConnectionGuard::handle(std::uint16_t event, int value) {
  switch (event) {
    case ZMQ_EVENT_LISTENING:
      port_ = port_of(value);
      return true;
    case ZMQ_EVENT_ACCEPTED:
      on_accepted(value);
      return true;
    case ZMQ_EVENT_DISCONNECTED:
      open_.erase(value);
      handshakes_.erase(value);
      return true;
    case ZMQ_EVENT_ACCEPT_FAILED:
      if (value == EMFILE || value == ENFILE) on_no_descriptors();
      return true;
    default:
      return event != ZMQ_EVENT_MONITOR_STOPPED;
  }
}

void ConnectionGuard::on_accepted(int fd) {
  const SteadyTime now = clock_.steady_now();
  open_.insert(fd);
  if (now < full_until_) return end_connection(fd);
  if (open_.size() > limits_.connections_max) {
    forget_closed();
    if (open_.size() > limits_.connections_max) {
      warn("closing new connections: their number has reached the limit of open files");
      return end_connection(fd);
    }
  }
  handshakes_[fd] = now;
  if (handshakes_.size() <= limits_.handshakes_max) return;
  check_handshakes();
  if (handshakes_.size() <= limits_.handshakes_max) return;
  const auto oldest = std::min_element(
      handshakes_.begin(), handshakes_.end(),
      [](const auto& one, const auto& other) { return one.second < other.second; });
  warn("closing connections: too many have not proven who they are");
  end_connection(oldest->first);
  handshakes_.erase(oldest);
}

// The connection that waits is accepted with a descriptor of the reserve, and closed.
void ConnectionGuard::on_no_descriptors() {
  warn("closing new connections: no file descriptor is left");
  full_until_ = clock_.steady_now() + kFullTime;
  for (const int fd : reserve_) ::close(fd);
  reserve_.clear();
}

void ConnectionGuard::check_handshakes() {
  const SteadyTime now = clock_.steady_now();
  std::erase_if(handshakes_, [&](const auto& one) {
    const auto& [fd, since] = one;
    if (now >= since + kHandshakeMax) return true;
    const Progress progress = progress_of(fd, limits_.is_curve);
    if (progress != Progress::kTooMuch) return progress == Progress::kDone;
    warn("closing a connection: it sent too much without proving who it is");
    end_connection(fd);
    return true;
  });
}

// In case ZeroMQ did not report an end.
void ConnectionGuard::forget_closed() {
  const SteadyTime now = clock_.steady_now();
  if (now < forgot_at_ + kForgetPeriod) return;
  forgot_at_ = now;
  std::erase_if(open_, [this](int fd) { return !is_ours(fd); });
}

// ZeroMQ may have closed it, and its number may mean something else by now.
bool ConnectionGuard::is_ours(int fd) const { return port_ != 0 && port_of(fd) == port_; }

// ZeroMQ notices and closes it. The kernel then keeps nothing of it.
void ConnectionGuard::end_connection(int fd) const {
  if (!is_ours(fd)) return;
  end_at_once(fd);
  (void)::shutdown(fd, SHUT_RDWR);
}

void ConnectionGuard::take_reserve() {
  while (reserve_.size() < kReserve) {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    reserve_.push_back(fd);
  }
}

// An attack must not fill the log.
void ConnectionGuard::warn(const char* what) {
  const SteadyTime now = clock_.steady_now();
  if (warned_at_ != SteadyTime{} && now < warned_at_ + kWarnPeriod) return;
  warned_at_ = now;
  log_.warn(what, "connections", open_.size(), "handshakes", handshakes_.size());
}

}  // namespace carillon::net
