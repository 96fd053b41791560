#include "tests/contract/sqlite_store_database.h"

namespace carillon::jobtracker {
namespace {

const MakeStoreDatabase kSqlite{[]() -> Result<std::unique_ptr<StoreTestDatabase>> {
  return std::unique_ptr<StoreTestDatabase>{std::make_unique<SqliteTestDatabase>()};
}};

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, ::testing::Values(kSqlite));
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreReads, ::testing::Values(kSqlite));

}  // namespace
}  // namespace carillon::jobtracker
