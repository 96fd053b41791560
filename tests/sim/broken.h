#pragma once

#include <functional>
#include <string>

namespace carillon::sim {

// Told of each promise that was not kept.
using Broken = std::function<void(std::string what)>;

}  // namespace carillon::sim
