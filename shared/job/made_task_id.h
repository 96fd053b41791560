#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace carillon {

// What the task id of a job begins with for which none was chosen: "job-<id>".
inline constexpr std::string_view kMadeTaskIdPrefix = "job-";
// One with at least so large a number may be made for a job some day, so nobody may choose it.
inline constexpr std::int64_t kMadeTaskIdMin = 100'000'000'000'000;

// The number in such a task id, 1 or more; nothing for any other.
std::optional<std::int64_t> number_of_made_task_id(std::string_view task_id);

}  // namespace carillon
