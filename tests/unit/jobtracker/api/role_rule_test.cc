#include "jobtracker/api/role_rule.h"

#include <gtest/gtest.h>

#include "jobtracker/api/request_text.h"

namespace carillon::jobtracker {
namespace {

TEST(RoleRule, HasAClaimARoleAndNodeGroups) {
  EXPECT_EQ(parse_role_rule("groups=ops:operator:billing-*|mail").value(),
            (RoleRule{.claim = "groups",
                      .value = "ops",
                      .role = Role::kOperator,
                      .groups = {"billing-*", "mail"}}));
  EXPECT_EQ(parse_role_rule("groups=urn:ops:x:admin:*").value().value, "urn:ops:x");
}

TEST(RoleRule, RefusesOthers) {
  for (const char* text : {"", "groups=ops", "groups=ops:admin", "=ops:admin:*", "groups=:admin:*",
                           "groups=ops:chief:*", "groups=ops:worker:*",
                           "groups=ops:admin:", "groups=ops:admin:a||b", "a:b:c=d"})
    EXPECT_FALSE(parse_role_rule(text).ok()) << text;
}

TEST(RoleRule, TheFirstThatMatchesCounts) {
  const std::vector<RoleRule> rules{parse_role_rule("groups=ops:admin:*").value(),
                                    parse_role_rule("groups=*:viewer:*").value(),
                                    parse_role_rule("sub=1:editor:*").value()};
  EXPECT_EQ(matching_rule(rules, {{"groups", {"dev", "ops"}}})->role, Role::kAdmin);
  EXPECT_EQ(matching_rule(rules, {{"groups", {"dev"}}, {"sub", {"1"}}})->role, Role::kViewer);
  EXPECT_EQ(matching_rule(rules, {{"groups", {}}, {"sub", {"1"}}})->role, Role::kEditor);
  EXPECT_EQ(matching_rule(rules, {{"email", {"ops"}}}), nullptr);
}

TEST(RequestText, FindsDecodedParameters) {
  EXPECT_EQ(web::query_value("/a?x=1&y=a%20b+c%2B", "y"), "a b c+");
  EXPECT_EQ(web::query_value("/a?x=1&x=2", "x"), "1");
  EXPECT_EQ(web::query_value("/a?x", "x"), "");
  EXPECT_FALSE(web::query_value("/a?xy=1", "x"));
  EXPECT_FALSE(web::query_value("/a", "x"));
  EXPECT_FALSE(web::query_value("/a?x=%2", "x"));
  EXPECT_FALSE(web::query_value("/a?x=%zz", "x"));
}

TEST(RequestText, FindsACookie) {
  const net::HttpCall call{.headers = {{"cookie", "a=1; ab=2;c=3=4"}}};
  EXPECT_EQ(web::cookie_of(call, "a"), "1");
  EXPECT_EQ(web::cookie_of(call, "ab"), "2");
  EXPECT_EQ(web::cookie_of(call, "c"), "3=4");
  EXPECT_EQ(web::cookie_of(call, "b"), "");
  EXPECT_EQ(web::cookie_of({}, "a"), "");
}

}  // namespace
}  // namespace carillon::jobtracker
