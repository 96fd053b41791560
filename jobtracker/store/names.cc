#include "jobtracker/store/names.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "carillon/job_spec.h"
#include "shared/base/utf8.h"
#include "shared/job/bucket.h"
#include "shared/job/made_task_id.h"

namespace carillon::jobtracker {
namespace {

constexpr std::string_view kTablePrefix = "lts_wjq_";
constexpr std::size_t kTableNameMax = 64;  // MySQL's limit

bool is_table_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

Status check_group_name(std::string_view name) {
  const bool fine =
      !name.empty() && name.size() <= kGroupBytesMax &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return is_table_character(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '-';
      });
  if (fine) return {};
  return Error{
      ErrorCode::kInvalidArgument,
      "group '" + std::string{first_bytes(name, 2 * kGroupBytesMax)} +
          "' is not a group name: use 1 to 64 characters of A-Z, a-z, 0-9, '.', '_' and '-'"};
}

std::string new_group_table(std::string_view group_name,
                            const std::function<bool(const std::string&)>& is_taken) {
  std::string base{kTablePrefix};
  base += lower_ascii(group_name);
  for (char& c : base) {
    if (!is_table_character(c)) c = '_';
  }
  base.resize(std::min(base.size(), kTableNameMax));
  std::string table = base;
  for (int number = 2; is_taken(table); ++number) {
    const std::string suffix = "_" + std::to_string(number);
    table = base.substr(0, kTableNameMax - suffix.size()) + suffix;
  }
  return table;
}

bool is_group_table(std::string_view table) {
  return table.size() > kTablePrefix.size() && table.size() <= kTableNameMax &&
         table.starts_with(kTablePrefix) &&
         std::all_of(table.begin(), table.end(), is_table_character);
}

std::string part_name(std::string_view whole, std::int32_t number) {
  return std::string{whole} + "/" + std::to_string(number);
}

std::optional<PartName> part_named(std::string_view name) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(slash + 1);
  PartName part{.whole = std::string{name.substr(0, slash)}};
  const auto [end, failure] =
      std::from_chars(digits.data(), digits.data() + digits.size(), part.number);
  const bool fine = failure == std::errc{} && end == digits.data() + digits.size() &&
                    part.number > 0 && part.number < kPartsMax;
  return fine ? std::optional{part} : std::nullopt;
}

std::string made_task_id(JobId id) {
  return std::string{kMadeTaskIdPrefix} + std::to_string(id.value);
}

std::optional<JobId> job_of_task_id(std::string_view task_id) {
  const auto number = number_of_made_task_id(task_id);
  return number ? std::optional{JobId{*number}} : std::nullopt;
}

std::string_view storable_message(std::string_view message, std::string& storage) {
  std::size_t good = 0;  // bytes from the start that are valid
  while (good < message.size()) {
    const std::size_t length = first_character(message.substr(good)).bytes;
    if (length == 0 || good + length > kLogMessageBytesMax) break;
    good += length;
  }
  if (good == message.size()) return message;

  storage.assign(message.substr(0, good));
  for (std::size_t at = good; at < message.size();) {
    const std::size_t length = first_character(message.substr(at)).bytes;
    const std::string_view next = length == 0 ? kReplacementCharacter : message.substr(at, length);
    if (storage.size() + next.size() > kLogMessageBytesMax) break;
    storage += next;
    at += std::max<std::size_t>(length, 1);
  }
  return storage;
}

}  // namespace carillon::jobtracker
