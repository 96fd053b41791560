#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace carillon::jobtracker {

// The task id prefix of jobs that `jobclient import xxl-job` imported.
inline constexpr std::string_view kXxlPrefix = "xxl-";

// The job's number at xxl-job: 17 for the task "xxl-17". 0: none.
inline std::int32_t xxl_number(std::string_view task_id) {
  if (!task_id.starts_with(kXxlPrefix)) return 0;
  task_id.remove_prefix(kXxlPrefix.size());
  std::int32_t number = 0;
  const char* const end = task_id.data() + task_id.size();
  const auto parsed = std::from_chars(task_id.data(), end, number);
  const bool is_plain = parsed.ec == std::errc{} && parsed.ptr == end && number > 0;
  return is_plain && task_id.front() != '0' ? number : 0;
}

}  // namespace carillon::jobtracker
