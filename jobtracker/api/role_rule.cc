#include "jobtracker/api/role_rule.h"

#include <algorithm>

namespace carillon::jobtracker {

bool RoleRule::matches(const Claims& claims) const {
  const auto found = claims.find(claim);
  if (found == claims.end() || found->second.empty()) return false;
  return value == "*" ||
         std::find(found->second.begin(), found->second.end(), value) != found->second.end();
}

Result<RoleRule> parse_role_rule(const std::string& text) {
  const auto wrong = [&text](const std::string& why) {
    return Error{ErrorCode::kInvalidArgument,
                 "'" + text + "' " + why +
                     " (write CLAIM=VALUE:ROLE:GROUPS, like groups=ops:operator:billing-*|mail)"};
  };
  const std::size_t equals = text.find('=');
  const std::size_t last = text.rfind(':');
  const std::size_t middle =
      last == std::string::npos || last == 0 ? std::string::npos : text.rfind(':', last - 1);
  if (equals == std::string::npos || middle == std::string::npos || middle < equals)
    return wrong("is no rule");
  RoleRule rule{.claim = text.substr(0, equals),
                .value = text.substr(equals + 1, middle - equals - 1)};
  if (rule.claim.empty() || rule.value.empty()) return wrong("has an empty claim or value");
  const auto role = parse_role(text.substr(middle + 1, last - middle - 1));
  if (!role.ok()) return wrong("has a wrong role: " + role.error().message);
  rule.role = role.value();
  if (rule.role == Role::kWorker) return wrong("has the role worker, which is not for people");
  std::size_t begin = last + 1;
  while (true) {
    const std::size_t end = text.find('|', begin);
    rule.groups.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  const Status fine = check_group_patterns(rule.groups);
  if (!fine.ok()) return wrong("has wrong node groups: " + fine.error().message);
  return rule;
}

const RoleRule* matching_rule(const std::vector<RoleRule>& rules, const Claims& claims) {
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const RoleRule& rule) { return rule.matches(claims); });
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace carillon::jobtracker
