#pragma once

#include <string>

#include "carillon/result.h"
#include "shared/net/http_url.h"

namespace carillon::tasktracker {

// The address of this machine that packets to `url` go out from, which is one that its host
// reaches this machine by, where no translation of addresses is between them. Nothing is sent but
// the question for the host's address. kUnavailable: that has none, or there is no way to it.
Result<std::string> own_address_towards(const net::HttpUrl& url);

}  // namespace carillon::tasktracker
