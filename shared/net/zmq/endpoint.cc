#include "shared/net/zmq/endpoint.h"

#include <charconv>

namespace carillon::net {
namespace {

constexpr std::string_view kScheme = "tcp://";

Error malformed(std::string_view text) {
  return {ErrorCode::kInvalidArgument, "'" + std::string{text} +
                                           "' is not an address, must look like "
                                           "tcp://127.0.0.1:35001"};
}

}  // namespace

std::string Endpoint::text() const {
  const std::string in_url = is_ipv6() ? "[" + host + "]" : host;
  return std::string{kScheme} + in_url + ":" + std::to_string(port);
}

bool Endpoint::is_loopback() const {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  if (!text.starts_with(kScheme)) return malformed(text);
  const std::string_view address = text.substr(kScheme.size());
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return malformed(text);

  std::string_view host = address.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return malformed(text);
  }
  const std::string_view port = address.substr(colon + 1);
  Endpoint endpoint{.host = std::string{host}};
  const auto end = port.data() + port.size();
  const auto parsed = std::from_chars(port.data(), end, endpoint.port);
  if (host.empty() || port.empty() || parsed.ec != std::errc{} || parsed.ptr != end ||
      host.find_first_of(" /;[]") != std::string_view::npos) {
    return malformed(text);
  }
  return endpoint;
}

}  // namespace carillon::net
