#include "tests/contract/store_contract.h"

// Keys, tokens and users.
namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;

PrincipalRow user(const std::string& name, const std::string& secret) {
  return {.principal = {.kind = kUserKind,
                        .name = name,
                        .role = Role::kOperator,
                        .groups = {"billing-*", "ops"}},
          .secret = secret,
          .created_at = kNow,
          .created_by = "root",
          .language = "zh"};
}

TEST_P(StoreContract, KeepsPrincipalsByKindAndName) {
  PrincipalRow key = user("anna", "public");
  key.principal.kind = kKeyKind;
  committed({PutPrincipal{user("anna", "hash")}, PutPrincipal{key}});

  EXPECT_THAT(ask<PrincipalsAnswer>(ListPrincipals{}).rows, ElementsAre(key, user("anna", "hash")));

  const auto removed =
      committed({RemovePrincipal{kKeyKind, "anna"}, RemovePrincipal{kKeyKind, "x"}});
  EXPECT_EQ(removed.outcomes[0].kind, OutcomeKind::kDone);
  EXPECT_EQ(removed.outcomes[1].kind, OutcomeKind::kConflict);
  EXPECT_THAT(ask<PrincipalsAnswer>(ListPrincipals{}).rows, ElementsAre(user("anna", "hash")));
}

TEST_P(StoreContract, DoesNotReplaceAPrincipalByAccident) {
  committed({PutPrincipal{user("anna", "one")}});

  const auto again =
      committed({PutPrincipal{user("anna", "one")}, PutPrincipal{user("anna", "two")}});

  EXPECT_EQ(again.outcomes[0].kind, OutcomeKind::kDone) << "the same";
  EXPECT_EQ(again.outcomes[1].kind, OutcomeKind::kConflict);
  EXPECT_THAT(ask<PrincipalsAnswer>(ListPrincipals{}).rows, ElementsAre(user("anna", "one")));
}

TEST_P(StoreContract, KeepsWhatAChangeOfAPrincipalLeavesOut) {
  committed({PutPrincipal{user("anna", "one")}});
  PrincipalRow change = user("anna", "");
  change.principal.role = Role::kAdmin;
  change.created_by = "other";
  change.language = "";

  committed({PutPrincipal{change, true}});

  PrincipalRow after = user("anna", "one");
  after.principal.role = Role::kAdmin;
  EXPECT_THAT(ask<PrincipalsAnswer>(ListPrincipals{}).rows, ElementsAre(after));

  PrincipalRow password = user("anna", "two");
  password.principal.groups.clear();
  committed({PutPrincipal{password, true}});
  after.secret = "two";
  EXPECT_THAT(ask<PrincipalsAnswer>(ListPrincipals{}).rows, ElementsAre(after));

  password.principal.name = "nobody";
  EXPECT_EQ(committed({PutPrincipal{password, true}}).outcomes[0].kind, OutcomeKind::kConflict);
}

}  // namespace
}  // namespace carillon::jobtracker
