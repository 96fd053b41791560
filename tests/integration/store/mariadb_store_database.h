#pragma once

#include <memory>
#include <string>

#include "shared/sql/mysql/mysql_connection.h"
#include "tests/contract/sql_store_database.h"
#include "tests/integration/shared_mariadb.h"
#include "tests/support/tcp_proxy.h"

namespace carillon::jobtracker {

// An empty database of the shared server, reached through a network that can fail.
class MariadbTestDatabase final : public SqlTestDatabase {
 public:
  static Result<std::unique_ptr<StoreTestDatabase>> make() {
    auto* server = CARILLON_TRY(testing::shared_mariadb());
    static const Status created = server->create_database(kName);
    CARILLON_TRY(Status{created});
    std::unique_ptr<MariadbTestDatabase> database{new MariadbTestDatabase{server->port()}};
    CARILLON_TRY(database->empty());
    return std::unique_ptr<StoreTestDatabase>{std::move(database)};
  }

  Result<std::unique_ptr<ReadOnlyStore>> open_reader() override {
    return std::unique_ptr<ReadOnlyStore>{
        std::make_unique<SqlReader>([this] { return connect(); })};
  }
  void cut_next_commit(bool committed) override {
    // With the byte before it, unlike the READ COMMITTED of a new connection.
    proxy_.cut_when(std::string{'\3'} + "COMMIT", committed
                                                      ? testing::TcpProxy::When::kAfterAnswer
                                                      : testing::TcpProxy::When::kBeforeForwarding);
  }
  void cut_when_sent(const std::string& bytes) override {
    proxy_.cut_when(bytes, testing::TcpProxy::When::kBeforeForwarding);
  }

  testing::TcpProxy& network() { return proxy_; }

 protected:
  Result<std::unique_ptr<sql::Connection>> connect() override { return connect_to(proxy_.port()); }
  Result<std::unique_ptr<sql::Connection>> connect_beside() override { return connect_to(port_); }

 private:
  static constexpr const char* kName = "store";

  explicit MariadbTestDatabase(std::uint16_t port) : port_(port), proxy_(port) {}

  static Result<std::unique_ptr<sql::Connection>> connect_to(std::uint16_t port) {
    const auto url = CARILLON_TRY(sql::parse_mysql_url(testing::MariadbServer::url(kName, port)));
    std::unique_ptr<sql::Connection> connection =
        CARILLON_TRY(sql::MysqlConnection::open(url, {.lock_wait = std::chrono::seconds{1}}));
    return connection;
  }

  // Making the tables takes a second, so that they outlive a test, but not their rows.
  Status empty() {
    const auto db = CARILLON_TRY(connect());
    std::vector<std::string> tables;
    CARILLON_TRY(
        db->query("SELECT table_name FROM information_schema.tables "
                  "WHERE table_schema = DATABASE() AND table_name <> 'lts_schema'",
                  {}, [&](const sql::Row& row) { tables.emplace_back(row.bytes(0)); }));
    for (const std::string& table : tables) {
      const bool has_one_row = table == "lts_definition_high";
      CARILLON_TRY(db->execute(
          has_one_row ? "UPDATE " + table + " SET definition_id = 0" : "DELETE FROM " + table, {}));
    }
    return {};
  }

  const std::uint16_t port_;
  testing::TcpProxy proxy_;
};

}  // namespace carillon::jobtracker
