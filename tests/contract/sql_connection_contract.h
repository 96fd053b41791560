#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "shared/sql/sql_connection.h"

namespace carillon::sql {

// A database of one kind for one test: empty at first, gone with the object.
class TestDatabase {
 public:
  virtual ~TestDatabase() = default;
  // Another connection to it, which waits for locks for about a second.
  virtual Result<std::unique_ptr<Connection>> connect() = 0;
};

using MakeTestDatabase = std::function<Result<std::unique_ptr<TestDatabase>>()>;

// What every driver promises; see sql_connection.h. A driver's test program brings a way to make
// databases and adds sql_connection_contract.cc to its sources.
class SqlConnectionContract : public ::testing::TestWithParam<MakeTestDatabase> {
 protected:
  void SetUp() override {
    auto database = GetParam()();
    if (!database.ok() && database.error().code == ErrorCode::kNotFound) {
      GTEST_SKIP() << database.error().message;
    }
    ASSERT_TRUE(database.ok()) << database.error().message;
    database_ = std::move(database).value();
    connection_ = connect();
  }

  std::unique_ptr<Connection> connect() {
    auto connection = database_->connect();
    EXPECT_TRUE(connection.ok()) << connection.error().message;
    return connection.ok() ? std::move(connection).value() : nullptr;
  }

  // A column of short text that compares byte by byte and may be a key.
  std::string text_type() const {
    return connection_->dialect() == Dialect::kMysql ? "VARCHAR(190) COLLATE utf8mb4_bin" : "TEXT";
  }
  std::string bytes_type() const {
    return connection_->dialect() == Dialect::kMysql ? "LONGBLOB" : "BLOB";
  }
  std::string key_bytes_type() const {
    return connection_->dialect() == Dialect::kMysql ? "VARBINARY(190)" : "BLOB";
  }

  void run(const std::string& sql, std::vector<Value> parameters = {}) {
    const auto result = connection_->execute(sql, parameters);
    ASSERT_TRUE(result.ok()) << result.error().message;
  }
  // The first column of the first row.
  static std::int64_t number(Connection& connection, std::string_view sql,
                             const std::vector<Value>& parameters = {}) {
    std::int64_t answer = -1;
    const auto status =
        connection.query(sql, parameters, [&](const Row& row) { answer = row.integer(0); });
    EXPECT_TRUE(status.ok()) << status.error().message;
    return answer;
  }
  std::string text(std::string_view sql, const std::vector<Value>& parameters = {}) {
    std::string answer = "(no row)";
    const auto status = connection_->query(
        sql, parameters, [&](const Row& row) { answer = std::string{row.bytes(0)}; });
    EXPECT_TRUE(status.ok()) << status.error().message;
    return answer;
  }

  std::unique_ptr<TestDatabase> database_{};
  std::unique_ptr<Connection> connection_{};
};

// The code of a failure, for EXPECT_EQ; fails the test if it is none.
template <class T>
ErrorCode code_of(const Result<T>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? ErrorCode{} : result.error().code;
}

}  // namespace carillon::sql
