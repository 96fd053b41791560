#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "carillon/ids.h"
#include "carillon/result.h"

// How the names that people choose become keys of the tables. Pure functions.
namespace carillon::jobtracker {

inline constexpr std::size_t kGroupsMax = 10'000;
inline constexpr std::size_t kLogMessageBytesMax = 4096;

// Group names are unique without regard to case. 1 to 64 characters of [A-Za-z0-9._-].
Status check_group_name(std::string_view name);

// A name for the group's table that `is_taken` does not know yet: lts_wjq_ and the lower-case
// name, other characters than [a-z0-9_] replaced, cut to 64, with a number where it collides.
// The answer is stored with the group; nothing else derives it.
std::string new_group_table(std::string_view group_name,
                            const std::function<bool(const std::string&)>& is_taken);

// Whether a text may stand as a group's table in SQL. The only way a name gets into a statement.
bool is_group_table(std::string_view table);

// A part of a split group, but the first, is named "NAME/1" and so on, which nobody can name.
struct PartName {
  std::string whole{};
  std::int32_t number = 0;
};
std::string part_name(std::string_view whole, std::int32_t number);
std::optional<PartName> part_named(std::string_view name);  // none: it is no such name

// The task id of a job for which none was chosen: "job-<id>".
std::string made_task_id(JobId id);
// The job that a made-up task id names.
std::optional<JobId> job_of_task_id(std::string_view task_id);

// What the log keeps of a message: valid UTF-8, bytes that are none replaced, cut at a character to
// kLogMessageBytesMax. Nothing that a run says can make its end impossible to store. The answer is
// `message` itself where it is fine, else it stands in `storage`.
std::string_view storable_message(std::string_view message, std::string& storage);

}  // namespace carillon::jobtracker
