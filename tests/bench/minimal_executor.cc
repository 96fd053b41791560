#include "tests/bench/minimal_executor.h"

#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace carillon::bench {
namespace {

constexpr std::size_t kResultsMax = 200;
constexpr auto kRegisterEach = std::chrono::seconds{30};
constexpr std::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"code\":200}";

Error failed(const std::string& what) {
  return {ErrorCode::kUnavailable, what + ": " + std::strerror(errno)};
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void send_at_once(int connection) {
  const int on = 1;
  ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Of a message's head, whose end is at `head_end`.
std::size_t body_size(std::string_view head) {
  constexpr std::string_view kName = "Content-Length: ";
  const std::size_t at = head.find(kName);
  if (at == std::string_view::npos) return 0;
  return static_cast<std::size_t>(std::strtoul(head.data() + at + kName.size(), nullptr, 10));
}

}  // namespace

Result<std::unique_ptr<MinimalExecutor>> MinimalExecutor::start(const std::string& admin,
                                                                const std::string& app_name) {
  const std::size_t colon = admin.rfind(':');
  const int admin_port = std::atoi(admin.c_str() + colon + 1);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (listener < 0 || ::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener, 4096) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return failed("cannot listen for calls");
  }
  std::unique_ptr<MinimalExecutor> executor(
      new MinimalExecutor(listener, ::eventfd(0, EFD_CLOEXEC), admin_port, app_name));
  executor->address_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
  int connection = -1;
  const bool is_registered = executor->register_now(connection);
  ::close(connection);
  if (!is_registered) return failed("cannot register at " + admin);
  executor->taking_ = std::thread([raw = executor.get()] { raw->take_calls(); });
  executor->telling_ = std::thread([raw = executor.get()] { raw->tell_results(); });
  return executor;
}

MinimalExecutor::MinimalExecutor(int listener, int wake, int admin_port, std::string app_name)
    : listener_(listener), wake_(wake), admin_port_(admin_port), app_name_(std::move(app_name)) {}

MinimalExecutor::~MinimalExecutor() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  has_results_.notify_all();
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
  if (taking_.joinable()) taking_.join();
  if (telling_.joinable()) telling_.join();
  ::close(listener_);
  ::close(wake_);
}

void MinimalExecutor::take_calls() {
  const int poll = ::epoll_create1(EPOLL_CLOEXEC);
  const auto watch = [poll](int descriptor) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
    ::epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event);
  };
  watch(listener_);
  watch(wake_);
  std::map<int, std::string> connections;
  std::array<epoll_event, 256> events{};
  for (bool stops = false; !stops;) {
    const int count = ::epoll_wait(poll, events.data(), events.size(), -1);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
      if (descriptor == wake_) {
        stops = true;
      } else if (descriptor == listener_) {
        const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (connection < 0) continue;
        send_at_once(connection);
        connections[connection];
        watch(connection);
      } else if (!read_from(descriptor, connections[descriptor])) {
        connections.erase(descriptor);
        ::close(descriptor);
      }
    }
  }
  for (const auto& [connection, unread] : connections) ::close(connection);
  ::close(poll);
}

// False: it was closed.
bool MinimalExecutor::read_from(int connection, std::string& unread) {
  std::array<char, 16 * 1024> bytes{};
  const ssize_t got = ::recv(connection, bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  unread.append(bytes.data(), static_cast<std::size_t>(got));
  std::string answers;
  std::vector<std::string> taken;
  while (true) {
    const std::size_t head_end = unread.find("\r\n\r\n");
    if (head_end == std::string::npos) break;
    const std::size_t size = head_end + 4 + body_size(std::string_view{unread}.substr(0, head_end));
    if (unread.size() < size) break;
    const std::string_view request = std::string_view{unread}.substr(0, size);
    constexpr std::string_view kLogId = "\"logId\":";
    const std::size_t at = request.find(kLogId);
    if (request.starts_with("POST /run ") && at != std::string_view::npos) {
      const std::size_t begin = at + kLogId.size();
      taken.emplace_back(
          request.substr(begin, request.find_first_not_of("0123456789", begin) - begin));
    }
    answers += kAnswer;
    unread.erase(0, size);
  }
  if (!answers.empty() && ::send(connection, answers.data(), answers.size(), MSG_NOSIGNAL) < 0) {
    return false;
  }
  if (taken.empty()) return true;
  const std::lock_guard lock(mutex_);
  std::move(taken.begin(), taken.end(), std::back_inserter(results_));
  has_results_.notify_one();
  return true;
}

void MinimalExecutor::tell_results() {
  int connection = -1;
  auto registered_at = std::chrono::steady_clock::now();
  std::vector<std::string> untold;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      has_results_.wait_for(lock, std::chrono::seconds{1},
                            [this] { return stops_ || !results_.empty(); });
      if (stops_) break;
      std::move(results_.begin(), results_.end(), std::back_inserter(untold));
      results_.clear();
    }
    if (std::chrono::steady_clock::now() - registered_at > kRegisterEach) {
      registered_at = std::chrono::steady_clock::now();
      (void)register_now(connection);  // Three of them may be missed.
    }
    while (!untold.empty()) {
      const std::size_t count = std::min(untold.size(), kResultsMax);
      std::string body = "[";
      for (std::size_t i = 0; i < count; ++i) {
        body += (i == 0 ? "{\"logId\":" : ",{\"logId\":") + untold[i] +
                ",\"logDateTim\":0,\"handleCode\":200}";
      }
      if (!post(connection, "/api/callback", body + "]")) break;
      untold.erase(untold.begin(), untold.begin() + static_cast<std::ptrdiff_t>(count));
    }
  }
  ::close(connection);
}

bool MinimalExecutor::post(int& connection, const std::string& path,
                           const std::string& body) const {
  if (connection < 0) {
    connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(admin_port_);
    if (::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(std::exchange(connection, -1));
      return false;
    }
    send_at_once(connection);
  }
  const std::string request =
      "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(admin_port_) +
      "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n\r\n" + body;
  std::string answer;
  std::size_t size = std::string::npos;
  bool is_open = ::send(connection, request.data(), request.size(), MSG_NOSIGNAL) ==
                 static_cast<ssize_t>(request.size());
  while (is_open && answer.size() < size) {
    std::array<char, 4096> bytes{};
    const ssize_t got = ::recv(connection, bytes.data(), bytes.size(), 0);
    is_open = got > 0;
    if (is_open) answer.append(bytes.data(), static_cast<std::size_t>(got));
    const std::size_t head_end = answer.find("\r\n\r\n");
    if (head_end == std::string::npos) continue;
    size = head_end + 4 + body_size(std::string_view{answer}.substr(0, head_end));
  }
  if (!is_open) ::close(std::exchange(connection, -1));
  return is_open && answer.find("\"code\":200") != std::string::npos;
}

bool MinimalExecutor::register_now(int& connection) const {
  return post(connection, "/api/registry",
              R"({"registryGroup":"EXECUTOR","registryKey":")" + app_name_ +
                  R"(","registryValue":")" + address_ + "\"}");
}

}  // namespace carillon::bench
