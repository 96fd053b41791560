#pragma once

#include <string_view>

namespace carillon::net {

// Whether clouds tell each machine its secrets at this address: a link-local one (169.254.0.0/16,
// fe80::/10), or one of those that some clouds have elsewhere; also as IPv6 embeds one of
// version 4. No executor is there. A host name is none: what it resolves to may be.
//
// Thread: any.
bool is_metadata_address(std::string_view host);

}  // namespace carillon::net
