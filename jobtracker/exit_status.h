#pragma once

// Exit statuses besides 0; docs/reference/error-codes.md describes them.
namespace carillon::jobtracker {

inline constexpr int kExitConfiguration = 2;
inline constexpr int kExitStore = 3;
inline constexpr int kExitBug = 70;

}  // namespace carillon::jobtracker
