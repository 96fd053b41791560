#pragma once

#include <cstdlib>
#include <string_view>

namespace carillon::testing {

// Whether a test may be skipped where what it needs is missing (a server, being root): on laptops,
// not in CI (CARILLON_CI=1), where it would vanish without a word.
inline bool may_skip() {
  const char* in_ci = ::getenv("CARILLON_CI");
  return in_ci == nullptr || std::string_view{in_ci} != "1";
}

}  // namespace carillon::testing
