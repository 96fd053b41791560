#include "tasktracker/executor/own_address.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace carillon::tasktracker {
namespace {

// The local address of a datagram socket that is connected there; empty: no route.
std::string local_end(const addrinfo& target) {
  const int fd = ::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return {};
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  char text[NI_MAXHOST] = "";
  if (::connect(fd, target.ai_addr, target.ai_addrlen) == 0 &&
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0) {
    (void)::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof text, nullptr, 0,
                        NI_NUMERICHOST);
  }
  ::close(fd);
  return text;
}

}  // namespace

Result<std::string> own_address_towards(const net::HttpUrl& url) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int failure =
      ::getaddrinfo(url.host.c_str(), url.port_or_default().c_str(), &wanted, &found);
  if (failure != 0) {
    return Error{ErrorCode::kUnavailable,
                 "host '" + url.host + "' has no address: " + ::gai_strerror(failure)};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  for (const addrinfo* target = found; target != nullptr; target = target->ai_next) {
    // The listener uses IPv4, which all admins support.
    if (target->ai_family != AF_INET) continue;
    std::string own = local_end(*target);
    if (!own.empty()) return own;
  }
  return Error{ErrorCode::kUnavailable, "there is no route to host '" + url.host + "' by IPv4"};
}

}  // namespace carillon::tasktracker
