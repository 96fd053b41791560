#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "shared/wire/spec_glance.h"
#include "shared/wire/spec_words.h"

namespace carillon::jobtracker {

// The kinds of jobs that a task tracker accepts. Executor groups accept all kinds.
class RunKinds {
 public:
  static RunKinds all() {
    RunKinds kinds;
    for (const auto& [word, kind] : wire::kRunWords) kinds.add(kind);
    return kinds;
  }
  // From Register::allow. Unknown words of newer task trackers are ignored; an empty list means
  // all.
  static RunKinds of(const std::vector<std::string>& words) {
    if (words.empty()) return all();
    RunKinds kinds;
    for (const auto& [word, kind] : wire::kRunWords) {
      for (const std::string& one : words) {
        if (one == word) kinds.add(kind);
      }
    }
    return kinds;
  }

  static RunKinds pushed() {
    RunKinds kinds;
    kinds.bits_ = kPushed;
    return kinds;
  }

  void add(RunKind kind) { bits_ |= bit(kind); }
  bool takes(const wire::SpecGlance& glance) const {
    return (bits_ & (glance.is_pushed ? kPushed : bit(glance.kind))) != 0;
  }

  bool operator==(const RunKinds&) const = default;
  // Fewer kinds first.
  std::strong_ordering operator<=>(const RunKinds& other) const {
    const auto by_number = std::popcount(bits_) <=> std::popcount(other.bits_);
    return by_number != std::strong_ordering::equal ? by_number : bits_ <=> other.bits_;
  }

 private:
  static constexpr std::uint32_t kPushed = 1U << 31U;

  static std::uint32_t bit(RunKind kind) { return 1U << static_cast<unsigned>(kind); }

  std::uint32_t bits_ = 0;
};

}  // namespace carillon::jobtracker
