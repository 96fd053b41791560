#pragma once

#include <string>

namespace carillon {

// The name of this machine: "server1", or its full name if that is set. Thread: any.
std::string host_name();

// The host and this process: "server1-4075". Names tell two of them on one host apart.
std::string process_name();

}  // namespace carillon
