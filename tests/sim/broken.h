#pragma once

#include <functional>
#include <string>
#include <utility>

namespace carillon::sim {

// Told of each promise that was not kept.
using Broken = std::function<void(std::string what)>;

// Says also who found it.
inline Broken by(const std::string& checker, Broken broken) {
  return [checker, broken = std::move(broken)](const std::string& what) {
    broken(checker + ": " + what);
  };
}

}  // namespace carillon::sim
