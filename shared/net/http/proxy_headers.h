#pragma once

#include <string>

#include "shared/net/networks.h"

// What a proxy reports about the requests that it passes on. Thread: any.
namespace carillon::net {

// The client's address: the last one in X-Forwarded-For that is not a proxy's own, because each
// proxy appends the address from which it got the request, and clients may have written the others.
// `peer`: the address of the connection. `forwarded_for`: the header's value; empty: it is missing.
std::string client_address(const std::string& peer, const std::string& forwarded_for,
                           const Networks& proxies);

// Whether all connections in X-Forwarded-Proto were encrypted. Requires: the header is not missing.
bool was_encrypted(const std::string& forwarded_proto);

}  // namespace carillon::net
