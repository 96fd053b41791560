#pragma once

#include <string>

namespace carillon {

// The name of this machine: "server1", or its full name if that is set. Thread: any.
std::string host_name();

}  // namespace carillon
