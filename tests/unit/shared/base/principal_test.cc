#include "shared/base/principal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/crypto.h"

namespace carillon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Principal of(std::vector<std::string> groups) {
  return {.kind = "key", .name = "anna", .role = Role::kViewer, .groups = std::move(groups)};
}

TEST(Principal, CoversNamesAndPatternsInAnyCase) {
  EXPECT_TRUE(of({"billing-*"}).covers("billing-eu"));
  EXPECT_TRUE(of({"billing-*"}).covers("Billing-EU"));
  EXPECT_TRUE(of({"billing-*"}).covers("billing-"));
  EXPECT_FALSE(of({"billing-*"}).covers("billing"));
  EXPECT_FALSE(of({"billing"}).covers("billing-eu"));
  EXPECT_TRUE(of({"ops", "Reports"}).covers("reports"));
  EXPECT_TRUE(of({"*"}).covers("anything"));
  EXPECT_FALSE(of({}).covers("anything"));
  EXPECT_FALSE(of({"ops"}).covers(""));
}

TEST(Principal, EachRoleHasItsRights) {
  const auto rights = [](Role role) {
    std::string text;
    for (const Right right : {Right::kAny, Right::kRead, Right::kOperate, Right::kEdit,
                              Right::kWork, Right::kAdminister})
      text += has_right(role, right) ? std::string{to_string(right)} + " " : "";
    return text;
  };
  EXPECT_EQ(rights(Role::kViewer), "any read ");
  EXPECT_EQ(rights(Role::kOperator), "any read operate ");
  EXPECT_EQ(rights(Role::kEditor), "any read operate edit ");
  EXPECT_EQ(rights(Role::kWorker), "any work ");
  EXPECT_EQ(rights(Role::kAdmin), "any read operate edit work administer ");
}

TEST(Principal, BadNamesAndPatternsAreRefused) {
  EXPECT_TRUE(check_principal_name("anna.k@example-1_x").ok());
  for (const char* name : {"", "-a", "a b", "a/b", "\xC3\xA9va"})
    EXPECT_FALSE(check_principal_name(name).ok()) << name;
  EXPECT_TRUE(check_group_patterns({"billing-*", "*", "ops"}).ok());
  EXPECT_FALSE(check_group_patterns({}).ok());
  for (const char* pattern : {"", "a*b", "a b", "**"})
    EXPECT_FALSE(check_group_patterns({pattern}).ok()) << pattern;
}

TEST(Crypto, TokensAreRandomAndPasswordsAreSalted) {
  EXPECT_THAT(make_access_token(), StartsWith("crl_"));
  EXPECT_NE(make_access_token(), make_access_token());
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");

  const std::string hash = hash_password("correct horse");
  EXPECT_THAT(hash, StartsWith("$argon2id$"));
  EXPECT_THAT(hash, Not(HasSubstr("horse")));
  EXPECT_NE(hash, hash_password("correct horse"));
  EXPECT_TRUE(is_password("correct horse", hash));
  EXPECT_FALSE(is_password("correct hors", hash));
  EXPECT_FALSE(is_password("", "not a hash"));
}

}  // namespace
}  // namespace carillon
