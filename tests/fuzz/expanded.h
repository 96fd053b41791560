#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace carillon::fuzz {

// The bytes of an input, where 0xFF and a number repeat the byte before them as many times 64: so a
// short input reaches the bounds of a long text.
inline std::string expanded(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kBytesMax = 128 * 1024;
  std::string bytes;
  for (std::size_t i = 0; i < size && bytes.size() < kBytesMax; ++i) {
    if (data[i] != 0xFF || bytes.empty() || i + 1 == size) {
      bytes += static_cast<char>(data[i]);
      continue;
    }
    const std::size_t times = std::size_t{64} * data[++i];
    bytes.append(std::min(times, kBytesMax - bytes.size()), bytes.back());
  }
  return bytes;
}

}  // namespace carillon::fuzz
