#pragma once

#include <string>

namespace carillon::net {

// Whether this host of a URL is this machine: loopback, "localhost", its host name, or an address
// of one of its interfaces. Names are not resolved. Thread: any.
bool is_own_machine(const std::string& host);

}  // namespace carillon::net
