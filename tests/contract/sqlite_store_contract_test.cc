#include "jobtracker/store/memory_store.h"
#include "tests/contract/sqlite_store_database.h"
#include "tests/contract/store_comparison.h"

namespace carillon::jobtracker {
namespace {

const MakeStoreDatabase kSqlite{[]() -> Result<std::unique_ptr<StoreTestDatabase>> {
  return std::unique_ptr<StoreTestDatabase>{std::make_unique<SqliteTestDatabase>()};
}};

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, ::testing::Values(kSqlite));
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreReads, ::testing::Values(kSqlite));

TEST(StoreComparison, SqliteDoesWhatMemoryDoes) {
  const ManualClock clock;
  const StoreSession session{.session = SessionId{1}};
  MemoryDatabase memory;
  MemoryStore reference{memory, session, clock};
  SqliteTestDatabase database;
  auto store = database.open(session, clock);
  ASSERT_TRUE(store.ok()) << store.error().message;
  compare_stores(reference, *store.value(), 20261121, 30'000);
}

}  // namespace
}  // namespace carillon::jobtracker
