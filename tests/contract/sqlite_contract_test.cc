#include "shared/sql/sqlite/sqlite_connection.h"
#include "tests/contract/sql_connection_contract.h"
#include "tests/support/temp_folder.h"

namespace carillon::sql {
namespace {

class SqliteTestDatabase final : public TestDatabase {
 public:
  Result<std::unique_ptr<Connection>> connect() override {
    const SqliteOptions options{.busy_timeout = std::chrono::milliseconds{200}};
    std::unique_ptr<Connection> connection =
        CARILLON_TRY(SqliteConnection::open(folder_.file("test.db"), options));
    return connection;
  }

 private:
  testing::TempFolder folder_{};
};

Result<std::unique_ptr<TestDatabase>> make_database() {
  return std::unique_ptr<TestDatabase>{std::make_unique<SqliteTestDatabase>()};
}

INSTANTIATE_TEST_SUITE_P(Sqlite, SqlConnectionContract,
                         ::testing::Values(MakeTestDatabase{make_database}));

}  // namespace
}  // namespace carillon::sql
