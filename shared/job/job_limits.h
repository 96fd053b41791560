#pragma once

#include <cstdint>

// What numbers of a job may be, beside those limits that programs of others need.
namespace carillon {

inline constexpr int kRetriesMax = 10'000;
inline constexpr std::int64_t kMisfiresMax = 1'000'000;  // of fire_all, made up for at once

}  // namespace carillon
