#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "carillon/result.h"

namespace carillon::net {

// An address to listen on or to connect to.
struct Endpoint {
  std::string host{};  // an address, a name, or * for all addresses; IPv6 without brackets
  std::uint16_t port = 0;

  // "127.0.0.1:35001", "[::1]:35001".
  std::string host_port() const;
  // "tcp://127.0.0.1:35001".
  std::string text() const { return "tcp://" + host_port(); }
  // Only processes of this machine can connect.
  bool is_loopback() const;
  bool is_ipv6() const { return host.find(':') != std::string::npos; }

  bool operator==(const Endpoint&) const = default;
};

// From "tcp://HOST:PORT".
Result<Endpoint> parse_endpoint(std::string_view text);

// From "HOST:PORT".
Result<Endpoint> parse_host_port(std::string_view text);

// Succeeds if parse_endpoint() does; for settings, see Option::check.
Status check_endpoint(const std::string& text);

}  // namespace carillon::net
