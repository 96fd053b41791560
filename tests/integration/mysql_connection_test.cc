#include "shared/sql/mysql/mysql_connection.h"

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/contract/sql_connection_contract.h"
#include "tests/integration/shared_mariadb.h"
#include "tests/support/tcp_proxy.h"

namespace carillon::sql {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::MariadbServer;
using ::testing::Not;
using testing::TcpProxy;

constexpr std::string_view kKeyColumns[] = {"id"};
constexpr std::chrono::seconds kPatience{20};   // for whatever must be answered
constexpr std::chrono::seconds kImpatience{2};  // for what never is; longer than the lock wait

// One table of one column in an empty database, and a network in between that can fail.
class MysqlConnectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = testing::shared_mariadb();
    if (!server.ok() && server.error().code == ErrorCode::kNotFound) {
      GTEST_SKIP() << server.error().message;
    }
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = server.value();
    const auto created = server_->create_database("faults");
    ASSERT_TRUE(created.ok()) << created.error().message;
    proxy_ = std::make_unique<TcpProxy>(server_->port());
    const auto direct = connect(server_->port());
    ASSERT_TRUE(direct->run_script("CREATE TABLE t (id BIGINT PRIMARY KEY, v BIGINT)").ok());
  }

  static Result<std::unique_ptr<MysqlConnection>> open(const std::string& url,
                                                       std::chrono::seconds patience = kPatience) {
    const auto parsed = CARILLON_TRY(parse_mysql_url(url));
    return MysqlConnection::open(parsed, {.connect_timeout = patience,
                                          .read_timeout = patience,
                                          .write_timeout = patience,
                                          .lock_wait = std::chrono::seconds{1}});
  }
  static std::unique_ptr<MysqlConnection> connect(std::uint16_t port,
                                                  std::chrono::seconds patience = kPatience) {
    auto connection = open(MariadbServer::url("faults", port), patience);
    EXPECT_TRUE(connection.ok()) << connection.error().message;
    return connection.ok() ? std::move(connection).value() : nullptr;
  }
  std::unique_ptr<MysqlConnection> connect_directly() const { return connect(server_->port()); }
  std::unique_ptr<MysqlConnection> connect_by_proxy() const { return connect(proxy_->port()); }

  std::int64_t number(const std::string& sql) const {
    std::int64_t answer = -1;
    const auto status =
        connect_directly()->query(sql, {}, [&](const Row& row) { answer = row.integer(0); });
    EXPECT_TRUE(status.ok()) << status.error().message;
    return answer;
  }

  // Inserts one row in a transaction; what its COMMIT said.
  static Status insert(Connection& connection, std::int64_t id) {
    CARILLON_TRY(connection.begin());
    CARILLON_TRY(
        connection.execute("INSERT INTO t (id, v) VALUES (?, 0)", std::vector{Value::of(id)}));
    return connection.commit();
  }

  MariadbServer* server_ = nullptr;
  std::unique_ptr<TcpProxy> proxy_{};
};

TEST_F(MysqlConnectionTest, DeniesAWrongPasswordWithoutShowingIt) {
  const auto result =
      open("mysql://carillon:guess@127.0.0.1:" + std::to_string(server_->port()) + "/faults");
  ASSERT_EQ(code_of(result), ErrorCode::kDenied);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("carillon:***@127.0.0.1"), HasSubstr("1045"),
                                            Not(HasSubstr("guess"))));
}

TEST_F(MysqlConnectionTest, ExplainsHowToCreateAMissingDatabase) {
  const auto result = open(server_->url("missing"));
  ASSERT_EQ(code_of(result), ErrorCode::kInvalidArgument);
  EXPECT_THAT(result.error().message, HasSubstr("CREATE DATABASE"));
}

TEST_F(MysqlConnectionTest, IsUnavailableWhenNoServerListens) {
  const auto result = open("mysql://carillon@127.0.0.1:1/faults");
  ASSERT_EQ(code_of(result), ErrorCode::kUnavailable);
  EXPECT_THAT(result.error().message, HasSubstr("check that the server runs"));
}

TEST_F(MysqlConnectionTest, IsUnavailableForAnUnknownHost) {
  EXPECT_EQ(code_of(open("mysql://carillon@no-such-host.invalid/faults")), ErrorCode::kUnavailable);
}

TEST_F(MysqlConnectionTest, AcceptsAHostName) {
  std::string url = server_->url("faults");
  url.replace(url.find("127.0.0.1"), 9, "localhost");
  const auto connection = open(url);
  EXPECT_TRUE(connection.ok()) << connection.error().message;
}

TEST_F(MysqlConnectionTest, OpensConnectionsFromManyThreadsAtOnce) {
  std::vector<std::future<bool>> opened;
  for (int thread = 0; thread < 8; ++thread) {
    opened.push_back(std::async(std::launch::async, [this] {
      const auto connection = open(server_->url("faults"));
      return connection.ok() && insert(*connection.value(), 0).ok();
    }));
  }
  int winners = 0;
  for (auto& one : opened) winners += one.get() ? 1 : 0;
  EXPECT_EQ(winners, 1) << "all insert the same key";
}

TEST_F(MysqlConnectionTest, SetsIsolationTimeZoneAndCharset) {
  const auto connection = connect_directly();
  std::string seen;
  const auto status = connection->query(
      "SELECT @@tx_isolation, @@time_zone, @@character_set_client, @@collation_connection, "
      "@@autocommit",
      {}, [&](const Row& row) {
        for (int column = 0; column < 5; ++column) {
          seen += row.bytes(column);
          seen += ' ';
        }
      });
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(seen, "READ-COMMITTED +00:00 utf8mb4 utf8mb4_bin 1 ");
}

TEST_F(MysqlConnectionTest, RefusesValuesThatDoNotFitTheColumn) {
  const auto connection = connect_directly();
  ASSERT_TRUE(connection->run_script("CREATE TABLE s (x VARCHAR(5))").ok());
  const std::vector long_text{Value::of_text("too long")};
  const std::vector not_utf8{Value::of_text("\xFF\xFE")};
  EXPECT_EQ(code_of(connection->execute("INSERT INTO s VALUES (?)", long_text)),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(connection->execute("INSERT INTO s VALUES (?)", not_utf8)),
            ErrorCode::kInvalidArgument);
}

TEST_F(MysqlConnectionTest, RefusesAValueLargerThanAPacketAndStaysUsable) {
  const auto connection = connect_directly();
  ASSERT_TRUE(connection->run_script("CREATE TABLE s (id BIGINT, x LONGBLOB)").ok());
  const std::string huge(17 << 20, 'x');
  const std::vector too_large{Value::of(1), Value::of_bytes(huge)};
  const std::vector small{Value::of(2), Value::of_bytes("x")};
  const auto refused = connection->execute("INSERT INTO s VALUES (?, ?)", too_large);
  EXPECT_EQ(code_of(refused), ErrorCode::kInvalidArgument);
  const auto taken = connection->execute("INSERT INTO s VALUES (?, ?)", small);
  EXPECT_TRUE(taken.ok()) << taken.error().message;
  EXPECT_EQ(number("SELECT SUM(LENGTH(x)) FROM s"), 1);
}

TEST_F(MysqlConnectionTest, DeletesWithoutTouchingRowsLockedByOthers) {
  const auto setup = connect_directly();
  ASSERT_TRUE(setup->run_script("INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)").ok());
  const auto holder = connect_directly();
  ASSERT_TRUE(holder->begin().ok());
  ASSERT_TRUE(holder->execute("UPDATE t SET v = 1 WHERE id = 2", {}).ok());

  const std::vector keys{Value::of(1), Value::of(3)};
  const auto was_there = connect_directly()->delete_rows("t", kKeyColumns, keys);
  ASSERT_TRUE(was_there.ok()) << was_there.error().message;
  EXPECT_THAT(was_there.value(), ::testing::ElementsAre(true, true));
}

TEST_F(MysqlConnectionTest, ReportsADeadlockAsConflictAndRollsBack) {
  ASSERT_TRUE(connect_directly()->run_script("INSERT INTO t VALUES (1, 0), (2, 0)").ok());
  const auto first = connect_directly();
  const auto second = connect_directly();
  ASSERT_TRUE(first->begin().ok());
  ASSERT_TRUE(second->begin().ok());
  ASSERT_TRUE(first->execute("UPDATE t SET v = v + 1 WHERE id = 1", {}).ok());
  ASSERT_TRUE(second->execute("UPDATE t SET v = v + 1 WHERE id = 2", {}).ok());

  // Whichever the server sacrifices, the other goes on.
  auto waiting = std::async(std::launch::async, [&] {
    return first->execute("UPDATE t SET v = v + 1 WHERE id = 2", {});
  });
  const auto crossing = second->execute("UPDATE t SET v = v + 1 WHERE id = 1", {});
  const auto waited = waiting.get();
  ASSERT_NE(crossing.ok(), waited.ok());
  EXPECT_EQ(code_of(crossing.ok() ? waited : crossing), ErrorCode::kConflict);
  auto& survivor = crossing.ok() ? *second : *first;
  auto& victim = crossing.ok() ? *first : *second;
  ASSERT_TRUE(survivor.commit().ok());
  EXPECT_TRUE(insert(victim, 3).ok());
  EXPECT_EQ(number("SELECT SUM(v) FROM t"), 2);
}

TEST_F(MysqlConnectionTest, StaysUnavailableAfterTheServerIsKilled) {
  const auto connection = connect_directly();
  ASSERT_TRUE(connection->begin().ok());
  ASSERT_TRUE(connection->execute("INSERT INTO t VALUES (1, 0)", {}).ok());
  server_->kill();
  EXPECT_EQ(code_of(connection->execute("INSERT INTO t VALUES (2, 0)", {})),
            ErrorCode::kUnavailable);
  EXPECT_EQ(code_of(open(server_->url("faults"))), ErrorCode::kUnavailable);

  const auto restarted = server_->restart();
  ASSERT_TRUE(restarted.ok()) << restarted.error().message;
  EXPECT_EQ(code_of(connection->begin()), ErrorCode::kUnavailable);
  EXPECT_EQ(code_of(connection->query("SELECT 1", {}, [](const Row&) {})), ErrorCode::kUnavailable);
  EXPECT_TRUE(connection->rollback().ok());
  EXPECT_EQ(number("SELECT COUNT(*) FROM t"), 0);
}

TEST_F(MysqlConnectionTest, IsUnavailableAfterAnOrderlyServerStop) {
  const auto connection = connect_directly();
  server_->stop();
  EXPECT_EQ(code_of(connection->begin()), ErrorCode::kUnavailable);
  ASSERT_TRUE(server_->restart().ok());
}

TEST_F(MysqlConnectionTest, IsUnavailableAfterItsConnectionIsKilled) {
  const auto connection = connect_directly();
  std::int64_t id = 0;
  ASSERT_TRUE(
      connection->query("SELECT CONNECTION_ID()", {}, [&](const Row& row) { id = row.integer(0); })
          .ok());
  ASSERT_TRUE(connection->begin().ok());
  ASSERT_TRUE(connection->execute("INSERT INTO t VALUES (1, 0)", {}).ok());
  ASSERT_TRUE(connect_directly()->run_script("KILL " + std::to_string(id)).ok());
  EXPECT_EQ(code_of(connection->execute("INSERT INTO t VALUES (2, 0)", {})),
            ErrorCode::kUnavailable);
  EXPECT_EQ(number("SELECT COUNT(*) FROM t"), 0);
}

TEST_F(MysqlConnectionTest, IsUnavailableWhenCutDuringATransaction) {
  const auto connection = connect_by_proxy();
  ASSERT_TRUE(connection->begin().ok());
  ASSERT_TRUE(connection->execute("INSERT INTO t VALUES (1, 0)", {}).ok());
  proxy_->cut();
  EXPECT_EQ(code_of(connection->query("SELECT 1", {}, [](const Row&) {})), ErrorCode::kUnavailable);
  EXPECT_EQ(number("SELECT COUNT(*) FROM t"), 0);
}

TEST_F(MysqlConnectionTest, OutcomeIsUnknownWhenCutBeforeCommitArrives) {
  const auto connection = connect_by_proxy();
  proxy_->cut_when("COMMIT", TcpProxy::When::kBeforeForwarding);
  EXPECT_EQ(code_of(insert(*connection, 1)), ErrorCode::kTimeout);
  EXPECT_EQ(proxy_->cuts(), 1);
  EXPECT_EQ(number("SELECT COUNT(*) FROM t"), 0);
  EXPECT_EQ(code_of(connection->begin()), ErrorCode::kUnavailable);
}

TEST_F(MysqlConnectionTest, OutcomeIsUnknownWhenCutBeforeCommitIsAnswered) {
  const auto connection = connect_by_proxy();
  proxy_->cut_when("COMMIT", TcpProxy::When::kAfterAnswer);
  EXPECT_EQ(code_of(insert(*connection, 1)), ErrorCode::kTimeout);
  EXPECT_EQ(proxy_->cuts(), 1);
  EXPECT_EQ(number("SELECT COUNT(*) FROM t"), 1);
}

TEST_F(MysqlConnectionTest, OutcomeIsUnknownWhenCommitTimesOut) {
  const auto connection = connect(proxy_->port(), kImpatience);
  ASSERT_TRUE(connection->begin().ok());
  ASSERT_TRUE(connection->execute("INSERT INTO t VALUES (1, 0)", {}).ok());
  proxy_->stall(true);
  EXPECT_EQ(code_of(connection->commit()), ErrorCode::kTimeout);
}

TEST_F(MysqlConnectionTest, OutcomeOfAnAutocommitWriteIsUnknownWhenCut) {
  const auto connection = connect_by_proxy();
  ASSERT_TRUE(connection->execute("INSERT INTO t VALUES (?, 0)", std::vector{Value::of(1)}).ok());
  proxy_->half_close();
  EXPECT_EQ(code_of(connection->execute("INSERT INTO t VALUES (?, 0)", std::vector{Value::of(2)})),
            ErrorCode::kTimeout);
}

TEST_F(MysqlConnectionTest, IsUnavailableWhenTheServerHangs) {
  const auto connection = connect(server_->port(), kImpatience);
  server_->pause();
  EXPECT_EQ(code_of(connection->begin()), ErrorCode::kUnavailable);
  EXPECT_EQ(code_of(open(server_->url("faults"), kImpatience)), ErrorCode::kUnavailable);
  server_->resume();
  EXPECT_EQ(number("SELECT COUNT(*) FROM t"), 0);
}

TEST_F(MysqlConnectionTest, IsUnavailableWhenTheConnectionIsRefused) {
  proxy_->refuse(true);
  EXPECT_EQ(code_of(open(MariadbServer::url("faults", proxy_->port()))), ErrorCode::kUnavailable);
  proxy_->refuse(false);
  EXPECT_TRUE(insert(*connect_by_proxy(), 1).ok());
}

TEST_F(MysqlConnectionTest, IsUnavailableWhenTheServerHasTooManyConnections) {
  const auto administrator = connect_directly();
  ASSERT_TRUE(administrator
                  ->run_script("CREATE USER IF NOT EXISTS small@'%' WITH MAX_USER_CONNECTIONS 1;\n"
                               "GRANT ALL ON faults.* TO small@'%'")
                  .ok());
  const auto url = "mysql://small@127.0.0.1:" + std::to_string(server_->port()) + "/faults";
  const auto first = open(url);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(code_of(open(url)), ErrorCode::kUnavailable);
}

TEST_F(MysqlConnectionTest, DeniesStatementsWithoutPrivilege) {
  const auto administrator = connect_directly();
  ASSERT_TRUE(administrator
                  ->run_script("CREATE USER IF NOT EXISTS reader@'%';\n"
                               "GRANT SELECT ON faults.* TO reader@'%'")
                  .ok());
  const auto connection =
      open("mysql://reader@127.0.0.1:" + std::to_string(server_->port()) + "/faults");
  ASSERT_TRUE(connection.ok()) << connection.error().message;
  EXPECT_EQ(code_of(connection.value()->execute("INSERT INTO t VALUES (1, 0)", {})),
            ErrorCode::kDenied);
}

TEST_F(MysqlConnectionTest, ReportsAFullTableAsLimit) {
  const auto connection = connect_directly();
  ASSERT_TRUE(connection
                  ->run_script("SET max_heap_table_size = 65536;\n"
                               "CREATE TABLE small (x VARBINARY(1000)) ENGINE = MEMORY")
                  .ok());
  const std::string large(1000, 'x');
  const std::vector<Value> rows(200, Value::of_bytes(large));
  EXPECT_EQ(code_of(connection->insert_rows("INSERT INTO small (x) VALUES", 1, rows)),
            ErrorCode::kLimit);
}

}  // namespace
}  // namespace carillon::sql
