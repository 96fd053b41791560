#include "shared/net/self_connection.h"

#include <cstring>

#include <sys/socket.h>

namespace carillon::net {

bool is_connected_to_itself(int fd) {
  sockaddr_storage own{};
  sockaddr_storage other{};
  socklen_t own_size = sizeof own;
  socklen_t other_size = sizeof other;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      ::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_size) != 0)
    return false;
  const bool has_port = own.ss_family == AF_INET || own.ss_family == AF_INET6;
  return has_port && own_size == other_size && std::memcmp(&own, &other, own_size) == 0;
}

void end_at_once(int fd) {
  const linger nothing{.l_onoff = 1, .l_linger = 0};
  (void)::setsockopt(fd, SOL_SOCKET, SO_LINGER, &nothing, sizeof nothing);
}

}  // namespace carillon::net
