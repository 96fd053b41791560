#pragma once

#include <string>

#include "carillon/result.h"
#include "shared/net/http_url.h"

namespace carillon::tasktracker {

// The local address on the route to `url`, under which its host can reach this machine, unless
// there is network address translation. Sends nothing except DNS queries. Error: kUnavailable if
// the host has no address or there is no route.
Result<std::string> own_address_towards(const net::HttpUrl& url);

}  // namespace carillon::tasktracker
