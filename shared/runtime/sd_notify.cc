#include "shared/runtime/sd_notify.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace carillon {

bool is_managed(const Environment& environment) {
  return environment.get("NOTIFY_SOCKET").has_value();
}

Status sd_notify(const Environment& environment, std::string_view state) {
  const auto path = environment.get("NOTIFY_SOCKET");
  if (!path) return {};
  sockaddr_un address{};
  if ((path->front() != '/' && path->front() != '@') || path->size() >= sizeof address.sun_path) {
    return Error{ErrorCode::kInvalidArgument,
                 "NOTIFY_SOCKET is '" + *path + "', must be an absolute path or start with @"};
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path->data(), path->size());
  // An abstract socket's name starts with a zero byte, written as '@'.
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path->size());

  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return Error{ErrorCode::kUnavailable,
                 std::string{"cannot create a socket: "} + strerror(errno)};
  const auto sent = ::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&address), size);
  const int failure = errno;
  ::close(fd);
  if (sent != static_cast<ssize_t>(state.size())) {
    return Error{ErrorCode::kUnavailable, "cannot notify " + *path + ": " + std::strerror(failure)};
  }
  return {};
}

}  // namespace carillon
