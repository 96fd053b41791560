#include "shared/net/http/curl_guard.h"

#include <netdb.h>
#include <sys/socket.h>

namespace carillon::net {
namespace {

std::string text_of(const sockaddr& address, socklen_t size) {
  char text[NI_MAXHOST] = "";
  if (::getnameinfo(&address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text;
}

}  // namespace

void CurlGuard::watch(CURL* easy) {
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
}

curl_socket_t CurlGuard::open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  auto& guard = *static_cast<CurlGuard*>(self);
  const Status allowed = guard.guard_.check(text_of(address->addr, address->addrlen));
  guard.refusal_ = allowed.ok() ? std::string{} : allowed.error().message;
  if (!allowed.ok()) return CURL_SOCKET_BAD;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

}  // namespace carillon::net
