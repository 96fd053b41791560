#include "tests/contract/sqlite_store_database.h"
#include "tests/contract/store_comparison.h"

namespace carillon::jobtracker {
namespace {

const MakeStoreDatabase kSqlite{[]() -> Result<std::unique_ptr<StoreTestDatabase>> {
  return std::unique_ptr<StoreTestDatabase>{std::make_unique<SqliteTestDatabase>()};
}};

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, ::testing::Values(kSqlite));
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreReads, ::testing::Values(kSqlite));

TEST(StoreComparison, SqliteBehavesLikeTheMemoryStore) {
  compare_stores(kSqlite, Sharing::kOneAtATime, 20261121, operations_to_compare(30'000));
}

}  // namespace
}  // namespace carillon::jobtracker
