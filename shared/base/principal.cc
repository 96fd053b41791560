#include "shared/base/principal.h"

#include <algorithm>
#include <array>

namespace carillon {
namespace {

constexpr std::array<const char*, kRoles> kRoleNames{"viewer", "operator", "editor", "worker",
                                                     "admin"};
constexpr std::array<const char*, 6> kRightNames{"any",  "read", "operate",
                                                 "edit", "work", "administer"};
constexpr std::size_t kPatternMax = 64;

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_same_beginning(std::string_view text, std::string_view beginning) {
  return text.size() >= beginning.size() &&
         std::equal(beginning.begin(), beginning.end(), text.begin(),
                    [](char one, char other) { return lower(one) == lower(other); });
}

bool matches(std::string_view pattern, std::string_view group) {
  if (pattern.ends_with('*'))
    return is_same_beginning(group, pattern.substr(0, pattern.size() - 1));
  return pattern.size() == group.size() && is_same_beginning(group, pattern);
}

bool is_pattern(std::string_view pattern) {
  if (pattern.empty() || pattern.size() > kPatternMax) return false;
  const std::string_view name =
      pattern.ends_with('*') ? pattern.substr(0, pattern.size() - 1) : pattern;
  constexpr std::string_view kFurther = "._-";
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter_or_digit(c) || kFurther.find(c) != std::string_view::npos;
  });
}

}  // namespace

const char* to_string(Role role) { return kRoleNames.at(static_cast<std::size_t>(role)); }

Result<Role> parse_role(std::string_view name) {
  for (std::size_t i = 0; i < kRoleNames.size(); ++i) {
    if (name == kRoleNames.at(i)) return static_cast<Role>(i);
  }
  return Error{ErrorCode::kInvalidArgument,
               "'" + std::string{name} +
                   "' is not a role (the roles are viewer, operator, editor, worker and admin)"};
}

const char* to_string(Right right) { return kRightNames.at(static_cast<std::size_t>(right)); }

bool has_right(Role role, Right right) {
  if (role == Role::kAdmin) return true;
  switch (right) {
    case Right::kAny:
      return true;
    case Right::kRead:
      return role != Role::kWorker;
    case Right::kOperate:
      return role == Role::kOperator || role == Role::kEditor;
    case Right::kEdit:
      return role == Role::kEditor;
    case Right::kWork:
      return role == Role::kWorker;
    case Right::kAdminister:
      return false;
  }
  return false;
}

const char* least_role(Right right) {
  for (int i = 0; i < kRoles; ++i) {
    const Role role = static_cast<Role>(i);
    if (has_right(role, right)) return to_string(role);
  }
  return to_string(Role::kAdmin);
}

bool Principal::covers(std::string_view group) const {
  return std::any_of(groups.begin(), groups.end(),
                     [&](const std::string& pattern) { return matches(pattern, group); });
}

bool Principal::covers_all() const {
  return std::find(groups.begin(), groups.end(), "*") != groups.end();
}

Status check_principal_name(std::string_view name) {
  constexpr std::string_view kFurther = "._@-";
  const bool is_fine = !name.empty() && name.size() <= kPrincipalNameMax &&
                       is_letter_or_digit(name.front()) &&
                       std::all_of(name.begin(), name.end(), [&](char c) {
                         return is_letter_or_digit(c) || kFurther.find(c) != std::string_view::npos;
                       });
  if (is_fine) return {};
  return Error{ErrorCode::kInvalidArgument,
               "'" + std::string{name.substr(0, kPrincipalNameMax)} + "' is not a name: use 1 to " +
                   std::to_string(kPrincipalNameMax) +
                   " letters, digits, '.', '_', '@' and '-', and begin with a letter or digit"};
}

Status check_group_patterns(const std::vector<std::string>& patterns) {
  if (patterns.empty() || patterns.size() > kGroupPatternsMax)
    return Error{ErrorCode::kInvalidArgument, "give 1 to " + std::to_string(kGroupPatternsMax) +
                                                  " node groups or patterns, like billing-* or *"};
  for (const std::string& pattern : patterns) {
    if (is_pattern(pattern)) continue;
    return Error{ErrorCode::kInvalidArgument,
                 "'" + pattern.substr(0, kPatternMax) +
                     "' is not a node group or a pattern (like billing, billing-* or *)"};
  }
  return {};
}

}  // namespace carillon
