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

Error no_url(std::string_view text) {
  return {ErrorCode::kInvalidArgument,
          "'" + std::string{text} + "' is not an address like http://HOST:PORT/"};
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The local end of a datagram socket that is connected there; empty: there is no way to it.
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

Result<HttpUrl> parse_http_url(std::string_view text) {
  HttpUrl url;
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return no_url(text);
  url.scheme = text.substr(0, scheme);
  if (url.scheme != "http" && url.scheme != "https") return no_url(text);
  std::string_view rest = text.substr(scheme + 3);
  if (text.find_first_of(" \t\r\n?#@") != std::string_view::npos) return no_url(text);
  const std::size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    url.path = rest.substr(slash);
    rest = rest.substr(0, slash);
  }
  while (url.path.ends_with('/')) url.path.pop_back();
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return no_url(text);
    url.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    url.host = rest.substr(0, rest.find(':'));
    rest.remove_prefix(url.host.size());
  }
  if (!rest.empty()) {
    if (rest.front() != ':' || !is_port(rest.substr(1))) return no_url(text);
    url.port = rest.substr(1);
  }
  if (url.host.empty()) return no_url(text);
  return url;
}

Result<std::string> own_address_towards(const HttpUrl& url) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const std::string port = !url.port.empty() ? url.port : url.scheme == "https" ? "443" : "80";
  const int failure = ::getaddrinfo(url.host.c_str(), port.c_str(), &wanted, &found);
  if (failure != 0) {
    return Error{ErrorCode::kUnavailable,
                 "host '" + url.host + "' has no address: " + ::gai_strerror(failure)};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  for (const addrinfo* target = found; target != nullptr; target = target->ai_next) {
    // The listener is for IPv4, which every admin speaks.
    if (target->ai_family != AF_INET) continue;
    std::string own = local_end(*target);
    if (!own.empty()) return own;
  }
  return Error{ErrorCode::kUnavailable, "there is no way to host '" + url.host + "' by IPv4"};
}

}  // namespace carillon::tasktracker
