#pragma once

#include <string>
#include <string_view>
#include <vector>

// The names of a server, and whether a browser sent a request for a page of it or of another site.
// Thread: any.
namespace carillon::net {

// The host of "HOST" or "HOST:PORT" without port, brackets and final dot, in lower case.
std::string host_of(std::string_view host_header);

// Whether "HOST" or "HOST:PORT" is a name of this server: localhost, the address of the connection,
// or one of `names`. Ports are not compared: a tunnel uses another port.
bool is_own_host(std::string_view host_header, const std::string& own_address,
                 const std::vector<std::string>& names);

// Names of this machine for others: its host name, with and without domain.
std::vector<std::string> names_of_machine();

// Whether an Origin like "http://HOST:PORT" belongs to a page of this server.
bool is_own_origin(std::string_view origin_header, std::string_view host_header);

}  // namespace carillon::net
