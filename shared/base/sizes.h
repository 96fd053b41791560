#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace carillon {

// The sizes of an object's containers, by name. Each must have a limit.
using Sizes = std::vector<std::pair<std::string, std::size_t>>;

// Adds the sizes of a part as "part.name".
inline void add_sizes(Sizes& all, const std::string& part, const Sizes& sizes) {
  for (const auto& [what, size] : sizes) all.emplace_back(part + "." + what, size);
}

}  // namespace carillon
