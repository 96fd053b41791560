#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace carillon {

// Prefix of a generated task id: "job-<id>".
inline constexpr std::string_view kMadeTaskIdPrefix = "job-";
// Numbers from here on are reserved for generated task ids; users cannot choose them.
inline constexpr std::int64_t kMadeTaskIdMin = 100'000'000'000'000;

// The number in such a task id, at least 1; none for other task ids.
std::optional<std::int64_t> number_of_made_task_id(std::string_view task_id);

}  // namespace carillon
