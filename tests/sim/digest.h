#pragma once

#include <cstdint>
#include <string_view>

namespace carillon::sim {

// Everything that happened, in one number: two runs of a seed are the same if theirs are.
class Digest {
 public:
  void add(std::uint64_t number) { value_ = (value_ ^ number) * 0x9E3779B97F4A7C15 + 1; }
  void add(std::string_view bytes) {
    std::uint64_t sum = 0xCBF29CE484222325;
    for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    add(sum);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 1;
};

}  // namespace carillon::sim
