#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"
#include "shared/base/principal.h"

namespace carillon::jobtracker {

// What is known of a person who signed in elsewhere: the names of claims and their values.
using Claims = std::map<std::string, std::vector<std::string>>;

// Gives a role to persons with a claim: "groups=ops:operator:billing-*|mail". The value "*" stands
// for any.
struct RoleRule {
  std::string claim{};
  std::string value{};
  Role role = Role::kViewer;
  std::vector<std::string> groups{};  // patterns of node groups

  bool matches(const Claims& claims) const;
  bool operator==(const RoleRule&) const = default;
};

// "CLAIM=VALUE:ROLE:GROUPS". Error: kInvalidArgument. Thread: any.
Result<RoleRule> parse_role_rule(const std::string& text);

// The first rule that matches; nullptr: none.
const RoleRule* matching_rule(const std::vector<RoleRule>& rules, const Claims& claims);

}  // namespace carillon::jobtracker
