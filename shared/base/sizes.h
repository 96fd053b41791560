#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace carillon {

// How much an object holds, by what: nothing of it may grow without a bound.
using Sizes = std::vector<std::pair<std::string, std::size_t>>;

// What a part of it holds goes by "part.what".
inline void add_sizes(Sizes& all, const std::string& part, const Sizes& sizes) {
  for (const auto& [what, size] : sizes) all.emplace_back(part + "." + what, size);
}

}  // namespace carillon
