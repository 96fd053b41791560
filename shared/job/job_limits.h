#pragma once

#include <cstdint>

// Limits of numbers in a job that other programs do not need.
namespace carillon {

inline constexpr int kRetriesMax = 10'000;
inline constexpr std::int64_t kMisfiresMax = 1'000'000;  // for fire_all, made up at one time

}  // namespace carillon
