#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"

// Principals, and what they may do. docs/reference/access.md lists the right for each request.
//
// Thread: any.
namespace carillon {

enum class Role : int {
  kViewer = 0,
  kOperator = 1,  // also triggers, kills, suspends, resumes and drains
  kEditor = 2,    // also submits, replaces, cancels and edits scripts
  kWorker = 3,    // takes and reports jobs, and nothing else
  kAdmin = 4      // everything
};
inline constexpr int kRoles = 5;

// "viewer", "operator", "editor", "worker", "admin".
const char* to_string(Role role);
// Error: kInvalidArgument, with the possible names.
Result<Role> parse_role(std::string_view name);

// What a request needs.
enum class Right : int {
  kAny = 0,  // every principal has it
  kRead = 1,
  kOperate = 2,
  kEdit = 3,
  kWork = 4,
  kAdminister = 5
};
// "any", "read", "operate", "edit", "work", "administer".
const char* to_string(Right right);
bool has_right(Role role, Right right);
// The least role besides admin that has the right: "viewer". "admin" if no other has it.
const char* least_role(Right right);

inline constexpr std::size_t kPrincipalNameMax = 64;
inline constexpr std::size_t kGroupPatternsMax = 64;

// Kinds of principals: the user of the job tracker's process, another job tracker, a CURVE key in
// the folder of keys, one in the store, an API token, a user of the console, a user of it who
// signed in at an OpenID provider or at a proxy, an xxl-job executor.
inline constexpr const char* kLocalKind = "local";
inline constexpr const char* kTrackerKind = "tracker";
inline constexpr const char* kFileKind = "file";
inline constexpr const char* kKeyKind = "key";
inline constexpr const char* kTokenKind = "token";
inline constexpr const char* kUserKind = "user";
inline constexpr const char* kOidcKind = "oidc";
inline constexpr const char* kProxyKind = "proxy";
inline constexpr const char* kAppKind = "app";

// The secret of a user without a password, who signs in at an OpenID provider or a proxy only.
inline constexpr const char* kNoPassword = "none";

struct Principal {
  std::string kind{};
  std::string name{};
  Role role = Role::kViewer;
  // Names of node groups. "*" at the end of a pattern stands for any text: "billing-*", "*".
  std::vector<std::string> groups{};

  // Node groups are case-insensitive, and so are patterns.
  bool covers(std::string_view group) const;
  bool covers_all() const;
  bool may(Right right) const { return has_right(role, right); }

  auto operator<=>(const Principal&) const = default;
};

// 1 to kPrincipalNameMax characters of A-Za-z0-9._@-, the first one a letter or digit.
Status check_principal_name(std::string_view name);
// 1 to kGroupPatternsMax patterns, each a name of a node group, or a beginning of one and "*".
Status check_group_patterns(const std::vector<std::string>& patterns);

}  // namespace carillon
