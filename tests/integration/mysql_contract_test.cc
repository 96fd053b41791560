#include "shared/sql/mysql/mysql_connection.h"
#include "tests/contract/sql_connection_contract.h"
#include "tests/integration/shared_mariadb.h"

namespace carillon::sql {
namespace {

class MysqlTestDatabase final : public TestDatabase {
 public:
  explicit MysqlTestDatabase(MysqlUrl url) : url_(std::move(url)) {}

  Result<std::unique_ptr<Connection>> connect() override {
    const MysqlOptions options{.lock_wait = std::chrono::seconds{1}};
    std::unique_ptr<Connection> connection = CARILLON_TRY(MysqlConnection::open(url_, options));
    return connection;
  }

 private:
  MysqlUrl url_;
};

Result<std::unique_ptr<TestDatabase>> make_database() {
  auto& server = *CARILLON_TRY(testing::shared_mariadb());
  CARILLON_TRY(server.create_database("contract"));
  auto url = CARILLON_TRY(parse_mysql_url(server.url("contract")));
  return std::unique_ptr<TestDatabase>{std::make_unique<MysqlTestDatabase>(std::move(url))};
}

INSTANTIATE_TEST_SUITE_P(Mariadb, SqlConnectionContract,
                         ::testing::Values(MakeTestDatabase{make_database}));

}  // namespace
}  // namespace carillon::sql
