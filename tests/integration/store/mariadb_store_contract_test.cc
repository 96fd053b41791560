#include "tests/contract/memory_store_database.h"
#include "tests/contract/store_comparison.h"
#include "tests/integration/store/mariadb_store_database.h"
#include "tests/support/may_skip.h"

namespace carillon::jobtracker {
namespace {

const MakeStoreDatabase kMariadb{MariadbTestDatabase::make};

INSTANTIATE_TEST_SUITE_P(Mariadb, StoreContract, ::testing::Values(kMariadb));
INSTANTIATE_TEST_SUITE_P(Mariadb, StoreReads, ::testing::Values(kMariadb));

TEST(StoreComparison, MariadbDoesWhatMemoryDoes) {
  MemoryTestDatabase memory;
  auto database = MariadbTestDatabase::make();
  if (!database.ok() && testing::may_skip()) {
    GTEST_SKIP() << database.error().message;
  }
  ASSERT_TRUE(database.ok()) << database.error().message;
  compare_stores(memory, *database.value(), 20261121, operations_to_compare(20'000));
}

}  // namespace
}  // namespace carillon::jobtracker
