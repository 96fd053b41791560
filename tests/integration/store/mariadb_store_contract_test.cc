#include "tests/contract/store_comparison.h"
#include "tests/integration/store/mariadb_store_database.h"
#include "tests/support/may_skip.h"

namespace carillon::jobtracker {
namespace {

const MakeStoreDatabase kMariadb{MariadbTestDatabase::make};

INSTANTIATE_TEST_SUITE_P(Mariadb, StoreContract, ::testing::Values(kMariadb));
INSTANTIATE_TEST_SUITE_P(Mariadb, StoreReads, ::testing::Values(kMariadb));

TEST(StoreComparison, MariadbBehavesLikeTheMemoryStore) {
  const auto server = testing::shared_mariadb();
  if (!server.ok() && testing::may_skip()) GTEST_SKIP() << server.error().message;
  compare_stores(kMariadb, Sharing::kSeveral, 20261121, operations_to_compare(20'000));
}

}  // namespace
}  // namespace carillon::jobtracker
