#pragma once

#include <string_view>

namespace carillon {

// Whether the texts are equal. Takes constant time, so that a secret cannot be guessed piece by
// piece. Thread: any.
inline bool is_same_secret(std::string_view one, std::string_view other) {
  unsigned difference = one.size() == other.size() ? 0 : 1;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const char c = other.empty() ? '\0' : other[i % other.size()];
    difference |= static_cast<unsigned>(static_cast<unsigned char>(one[i] ^ c));
  }
  return difference == 0;
}

}  // namespace carillon
