#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "carillon/result.h"

namespace carillon::net {

// Where to listen or to connect: "tcp://HOST:PORT".
struct Endpoint {
  std::string host{};  // an address, a name, or * for all addresses; IPv6 without brackets
  std::uint16_t port = 0;

  std::string text() const;
  // Only processes of this machine can be at the other end.
  bool is_loopback() const;
  bool is_ipv6() const { return host.find(':') != std::string::npos; }
};

Result<Endpoint> parse_endpoint(std::string_view text);

}  // namespace carillon::net
