#pragma once

#include <string>

namespace carillon::tasktracker {

// What this machine calls itself; the name of a worker that was given none.
// Thread: any.
std::string host_name();

}  // namespace carillon::tasktracker
