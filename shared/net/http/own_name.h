#pragma once

#include <string>
#include <string_view>
#include <vector>

// Whether a browser sent a request on behalf of a page of this server, or of somebody else's.
// Thread: any.
namespace carillon::net {

// Whether "HOST" or "HOST:PORT" is a name of this server: localhost, the address that the
// connection came to, or one of `names`. Ports are not compared: a tunnel has another.
bool is_own_host(std::string_view host_header, const std::string& own_address,
                 const std::vector<std::string>& names);

// Whether an Origin like "http://HOST:PORT" is that of a page which this very server delivered.
bool is_own_origin(std::string_view origin_header, std::string_view host_header);

}  // namespace carillon::net
