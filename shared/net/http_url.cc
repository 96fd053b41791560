#include "shared/net/http_url.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace carillon::net {
namespace {

Error no_url(std::string_view text) {
  return {ErrorCode::kInvalidArgument,
          "'" + std::string{text} + "' is not an address like http://HOST:PORT/"};
}

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, port);
  return parsed.ec == std::errc{} && parsed.ptr == end && port > 0;
}

// What ends an address, or a part of it, for one of the programs that it passes through.
bool is_end(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= ' ' || byte == 0x7f || c == '?' || c == '#' || c == '@';
}

}  // namespace

std::string HttpUrl::port_or_default() const {
  if (!port.empty()) return port;
  return scheme == "https" ? "443" : "80";
}

std::string HttpUrl::server() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return scheme + "://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + port_or_default();
}

Result<HttpUrl> parse_http_url(std::string_view text) {
  HttpUrl url;
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return no_url(text);
  url.scheme = text.substr(0, scheme);
  if (url.scheme != "http" && url.scheme != "https") return no_url(text);
  std::string_view rest = text.substr(scheme + 3);
  if (std::any_of(text.begin(), text.end(), is_end)) return no_url(text);
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
  if (url.host.empty() || url.host.find_first_of("[]") != std::string::npos) return no_url(text);
  return url;
}

}  // namespace carillon::net
