#include "jobtracker/store/memory_store.h"
#include "tests/contract/store_comparison.h"
#include "tests/integration/store/mariadb_store_database.h"
#include "tests/support/may_skip.h"

namespace carillon::jobtracker {
namespace {

const MakeStoreDatabase kMariadb{MariadbTestDatabase::make};

INSTANTIATE_TEST_SUITE_P(Mariadb, StoreContract, ::testing::Values(kMariadb));
INSTANTIATE_TEST_SUITE_P(Mariadb, StoreReads, ::testing::Values(kMariadb));

TEST(StoreComparison, MariadbDoesWhatMemoryDoes) {
  const ManualClock clock;
  const StoreSession session{.session = SessionId{1}};
  MemoryDatabase memory;
  MemoryStore reference{memory, session, clock};
  auto database = MariadbTestDatabase::make();
  if (!database.ok() && testing::may_skip()) {
    GTEST_SKIP() << database.error().message;
  }
  ASSERT_TRUE(database.ok()) << database.error().message;
  auto store = database.value()->open(session, clock);
  ASSERT_TRUE(store.ok()) << store.error().message;
  compare_stores(reference, *store.value(), 20261121, 20'000);
}

}  // namespace
}  // namespace carillon::jobtracker
