#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "carillon/ids.h"
#include "carillon/result.h"

// Conversion of user-chosen names to keys of the tables. Pure functions.
namespace carillon::jobtracker {

inline constexpr std::size_t kGroupsMax = 10'000;
inline constexpr std::size_t kLogMessageBytesMax = 4096;

// Group names are unique without regard to case: 1 to 64 characters of [A-Za-z0-9._-].
Status check_group_name(std::string_view name);

// A table name for the group that `is_taken` does not have: lts_wjq_ and the lower-case name, with
// characters other than [a-z0-9_] replaced, cut to 64 characters, with a number after a collision.
// It is stored with the group and never derived again.
std::string new_group_table(std::string_view group_name,
                            const std::function<bool(const std::string&)>& is_taken);

// Whether a text is a valid group table name in SQL. Only such names become part of a statement.
bool is_group_table(std::string_view table);

// Partitions of a split group, except the first, have the names "NAME/1" and so on, which users
// cannot choose.
struct PartName {
  std::string whole{};
  std::int32_t number = 0;
};
std::string part_name(std::string_view whole, std::int32_t number);
std::optional<PartName> part_named(std::string_view name);  // none: not such a name

// The task id of a job without a chosen one: "job-<id>".
std::string made_task_id(JobId id);
// The job of a generated task id.
std::optional<JobId> job_of_task_id(std::string_view task_id);

// The message as the log stores it: valid UTF-8 with invalid bytes replaced, cut at a character to
// kLogMessageBytesMax. So no output of a run makes its end impossible to store. Returns `message`
// itself if it is valid; otherwise the text is in `storage`.
std::string_view storable_message(std::string_view message, std::string& storage);

}  // namespace carillon::jobtracker
