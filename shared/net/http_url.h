#pragma once

#include <string>
#include <string_view>

#include "carillon/result.h"

namespace carillon::net {

// The parts of "http://HOST:PORT/PATH".
struct HttpUrl {
  std::string scheme{};  // "http" or "https"
  std::string host{};    // IPv6 without brackets
  std::string port{};    // empty: the scheme's default
  std::string path{};    // "/PATH", without a trailing slash; empty: none

  // The port, or the scheme's default.
  std::string port_or_default() const;
  // "http://HOST:PORT", always with the port.
  std::string server() const;
};

// Error: kInvalidArgument; the caller adds the context. Thread: any.
Result<HttpUrl> parse_http_url(std::string_view text);

}  // namespace carillon::net
