#pragma once

// How the program ends, besides 0; docs/reference/error-codes.md says what each means.
namespace carillon::jobtracker {

inline constexpr int kExitConfiguration = 2;
inline constexpr int kExitStore = 3;
inline constexpr int kExitBug = 70;

}  // namespace carillon::jobtracker
