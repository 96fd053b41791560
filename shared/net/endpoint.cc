#include "shared/net/endpoint.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace carillon::net {
namespace {

constexpr std::string_view kScheme = "tcp://";

bool may_be_in_host(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > ' ' && byte != 0x7f && std::string_view{"/;[]"}.find(c) == std::string_view::npos;
}

std::optional<Endpoint> parse(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = address.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view port = address.substr(colon + 1);
  Endpoint endpoint{.host = std::string{host}};
  const auto end = port.data() + port.size();
  const auto parsed = std::from_chars(port.data(), end, endpoint.port);
  if (host.empty() || port.empty() || parsed.ec != std::errc{} || parsed.ptr != end ||
      !std::all_of(host.begin(), host.end(), may_be_in_host)) {
    return std::nullopt;
  }
  return endpoint;
}

Error malformed(std::string_view text, const std::string& example) {
  const std::string_view port = text.substr(text.rfind(':') + 1);
  const bool is_number =
      !port.empty() && port.find_first_not_of("0123456789") == std::string_view::npos;
  return {ErrorCode::kInvalidArgument,
          "'" + std::string{text} + "' is not an address, must look like " + example +
              (is_number ? " (HOST:PORT with a port of 0 to 65535)" : "")};
}

}  // namespace

std::string Endpoint::host_port() const {
  return (is_ipv6() ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool Endpoint::is_loopback() const {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  const auto endpoint =
      text.starts_with(kScheme) ? parse(text.substr(kScheme.size())) : std::nullopt;
  if (!endpoint) return malformed(text, "tcp://127.0.0.1:35001");
  return *endpoint;
}

Result<Endpoint> parse_host_port(std::string_view text) {
  const auto endpoint = parse(text);
  if (!endpoint) return malformed(text, "127.0.0.1:8080");
  return *endpoint;
}

Status check_endpoint(const std::string& text) {
  CARILLON_TRY(parse_endpoint(text));
  return {};
}

}  // namespace carillon::net
