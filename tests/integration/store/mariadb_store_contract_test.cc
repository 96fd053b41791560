#include "tests/integration/store/mariadb_store_database.h"

namespace carillon::jobtracker {
namespace {

const MakeStoreDatabase kMariadb{MariadbTestDatabase::make};

INSTANTIATE_TEST_SUITE_P(Mariadb, StoreContract, ::testing::Values(kMariadb));
INSTANTIATE_TEST_SUITE_P(Mariadb, StoreReads, ::testing::Values(kMariadb));

}  // namespace
}  // namespace carillon::jobtracker
