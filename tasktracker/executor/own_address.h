#pragma once

#include <string>
#include <string_view>

#include "carillon/result.h"

namespace carillon::tasktracker {

// The parts of "http://HOST:PORT/PATH".
struct HttpUrl {
  std::string scheme{};  // "http" or "https"
  std::string host{};    // IPv6 without brackets
  std::string port{};    // empty: the scheme's own
  std::string path{};    // "/PATH", without a slash at its end; empty: none
};

// kInvalidArgument: it is none. Whoever calls says of what.
Result<HttpUrl> parse_http_url(std::string_view text);

// The address of this machine that packets to `url` go out from, which is one that its host
// reaches this machine by, where no translation of addresses is between them. Nothing is sent but
// the question for the host's address. kUnavailable: that has none, or there is no way to it.
Result<std::string> own_address_towards(const HttpUrl& url);

}  // namespace carillon::tasktracker
