#pragma once

#include <string_view>

namespace carillon::net {

// Whether clouds may provide a machine's secrets at this address: a link-local address
// (169.254.0.0/16, fe80::/10), or a known address elsewhere; also IPv4 embedded in IPv6. No
// executor has such an address. A host name is not checked: the address that it resolves to is.
//
// Thread: any.
bool is_metadata_address(std::string_view host);

}  // namespace carillon::net
