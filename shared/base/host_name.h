#pragma once

#include <string>

namespace carillon {

// What this machine calls itself: "server1", or its full name where that is set.
// Thread: any.
std::string host_name();

}  // namespace carillon
