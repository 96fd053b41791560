#pragma once

#include <string>
#include <string_view>

#include "carillon/result.h"

namespace carillon::net {

// The parts of "http://HOST:PORT/PATH".
struct HttpUrl {
  std::string scheme{};  // "http" or "https"
  std::string host{};    // IPv6 without brackets
  std::string port{};    // empty: the scheme's own
  std::string path{};    // "/PATH", without a slash at its end; empty: none

  // The port, also where the scheme gives it.
  std::string port_or_default() const;
  // "http://HOST:PORT", the port always named.
  std::string server() const;
};

// kInvalidArgument: it is none. Whoever calls says of what.
// Thread: any.
Result<HttpUrl> parse_http_url(std::string_view text);

}  // namespace carillon::net
