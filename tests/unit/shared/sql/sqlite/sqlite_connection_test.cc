#include "shared/sql/sqlite/sqlite_connection.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/support/temp_folder.h"

namespace carillon::sql {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A file with a table of rows of about 200 bytes.
class SqliteConnectionTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<SqliteConnection>> open(const SqliteOptions& options) const {
    return SqliteConnection::open(path_, options);
  }
  std::unique_ptr<SqliteConnection> connect(const SqliteOptions& options = {}) const {
    auto connection = open(options);
    EXPECT_TRUE(connection.ok()) << connection.error().message;
    return connection.ok() ? std::move(connection).value() : nullptr;
  }

  static void make_table(Connection& connection) {
    ASSERT_TRUE(connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB)", {}).ok());
  }
  // Adds `count` rows from `first` on.
  static Status fill(Connection& connection, std::int64_t first, std::int64_t count) {
    const std::string bytes(200, 'x');
    std::vector<Value> values;
    for (std::int64_t id = first; id < first + count; ++id) {
      values.push_back(Value::of(id));
      values.push_back(Value::of_bytes(bytes));
    }
    return connection.insert_rows("INSERT INTO t (id, b) VALUES", 2, values);
  }
  static std::int64_t number(Connection& connection, std::string_view sql) {
    std::int64_t answer = -1;
    const auto status = connection.query(sql, {}, [&](const Row& row) { answer = row.integer(0); });
    EXPECT_TRUE(status.ok()) << status.error().message;
    return answer;
  }

  testing::TempFolder folder_{};
  const std::string path_ = folder_.file("test.db");
};

TEST_F(SqliteConnectionTest, OpensWithFullDurability) {
  const auto connection = connect();
  EXPECT_EQ(number(*connection, "PRAGMA synchronous"), 2);
  std::string mode;
  ASSERT_TRUE(connection
                  ->query("PRAGMA journal_mode", {},
                          [&](const Row& row) { mode = std::string{row.bytes(0)}; })
                  .ok());
  EXPECT_EQ(mode, "wal");
}

TEST_F(SqliteConnectionTest, OpensADatabaseInMemory) {
  const auto connection = SqliteConnection::open(":memory:", {});
  ASSERT_TRUE(connection.ok()) << connection.error().message;
  EXPECT_EQ(number(*connection.value(), "SELECT 1"), 1);
}

TEST_F(SqliteConnectionTest, NamesThePathWhenItsFolderIsMissing) {
  const auto result = SqliteConnection::open(folder_.file("missing/test.db"), {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("missing/test.db"), HasSubstr("folder")));
}

TEST_F(SqliteConnectionTest, CreatesNoFileUnlessAllowed) {
  EXPECT_EQ(open({.create = false}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(open({.read_only = true}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SqliteConnectionTest, ReportsAForeignFileAsCorruptAndLeavesItUnchanged) {
  const std::string foreign(5000, 'z');
  std::ofstream{path_} << foreign;
  const auto result = open({});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr(path_), HasSubstr("not an SQLite")));
  EXPECT_EQ(open({.read_only = true}).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(std::filesystem::file_size(path_), foreign.size());
}

TEST_F(SqliteConnectionTest, ReportsADamagedPageAsCorrupt) {
  {
    const auto connection = connect();
    make_table(*connection);
    ASSERT_TRUE(fill(*connection, 0, 1000).ok());
    ASSERT_TRUE(connection->checkpoint(CheckpointKind::kRestart).ok());
  }
  std::fstream file{path_, std::ios::in | std::ios::out | std::ios::binary};
  file.seekp(4096);
  file << std::string(8192, '\xAA');
  file.close();
  const auto connection = connect();
  const auto status = connection->query("SELECT SUM(LENGTH(b)) FROM t", {}, [](const Row&) {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(status.error().message, HasSubstr("backup"));
}

TEST_F(SqliteConnectionTest, RefusesWritesOnAReadOnlyConnection) {
  const auto writer = connect();
  make_table(*writer);
  ASSERT_TRUE(fill(*writer, 0, 3).ok());
  const auto reader = connect({.read_only = true});
  EXPECT_EQ(number(*reader, "SELECT COUNT(*) FROM t"), 3);
  const auto refused = reader->execute("DELETE FROM t", {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kDenied);
  EXPECT_THAT(refused.error().message, HasSubstr("for queries only"));
  EXPECT_EQ(number(*reader, "SELECT COUNT(*) FROM t"), 3);
}

TEST_F(SqliteConnectionTest, GivesAReaderASnapshotForItsTransaction) {
  const auto writer = connect();
  make_table(*writer);
  ASSERT_TRUE(fill(*writer, 0, 3).ok());
  const auto reader = connect({.read_only = true});
  ASSERT_TRUE(reader->begin().ok());
  EXPECT_EQ(number(*reader, "SELECT COUNT(*) FROM t"), 3);
  ASSERT_TRUE(fill(*writer, 3, 3).ok());
  EXPECT_EQ(number(*reader, "SELECT COUNT(*) FROM t"), 3);
  ASSERT_TRUE(reader->commit().ok());
  EXPECT_EQ(number(*reader, "SELECT COUNT(*) FROM t"), 6);
}

TEST_F(SqliteConnectionTest, BeginFailsWhileAnotherWriterIsActive) {
  const auto first = connect();
  const auto second = connect({.busy_timeout = std::chrono::milliseconds{1}});
  ASSERT_TRUE(first->begin().ok());
  const auto status = second->begin();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kConflict);
  ASSERT_TRUE(first->rollback().ok());
  EXPECT_TRUE(second->begin().ok());
}

TEST_F(SqliteConnectionTest, OpenFailsWhileAnotherConnectionHoldsTheFileExclusively) {
  const auto holder = connect();
  ASSERT_TRUE(holder->query("PRAGMA locking_mode = EXCLUSIVE", {}, [](const Row&) {}).ok());
  make_table(*holder);
  ASSERT_TRUE(holder->begin().ok());
  const auto result = open({.busy_timeout = std::chrono::milliseconds{1}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kUnavailable);
}

TEST_F(SqliteConnectionTest, RefusesStringsInDoubleQuotes) {
  const auto connection = connect();
  EXPECT_EQ(connection->query("SELECT \"text\"", {}, [](const Row&) {}).error().code,
            ErrorCode::kInvalidArgument);
}

TEST_F(SqliteConnectionTest, ReportsThePageLimitAndContinues) {
  const auto connection = connect();
  make_table(*connection);
  ASSERT_TRUE(fill(*connection, 0, 10).ok());
  ASSERT_TRUE(connection->execute("PRAGMA max_page_count = 20", {}).ok());
  const auto status = fill(*connection, 10, 1000);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kLimit);
  EXPECT_THAT(status.error().message, AllOf(HasSubstr(path_), HasSubstr("full")));
  EXPECT_EQ(number(*connection, "SELECT COUNT(*) FROM t"), 10);
  EXPECT_TRUE(fill(*connection, 10, 10).ok());
}

// While it lives, no file of this process grows beyond `bytes`, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(SqliteConnectionTest, RollsBackOnAFullDiskAndContinues) {
  const auto connection = connect();
  make_table(*connection);
  ASSERT_TRUE(fill(*connection, 0, 10).ok());
  {
    const FileSizeLimit limit{64 << 10};
    const auto status = fill(*connection, 10, 2000);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kLimit) << status.error().message;
    EXPECT_THAT(status.error().message, AllOf(HasSubstr(path_), HasSubstr("free space")));
  }
  EXPECT_EQ(number(*connection, "SELECT COUNT(*) FROM t"), 10);
  EXPECT_TRUE(fill(*connection, 10, 2000).ok());
  EXPECT_EQ(number(*connect(), "SELECT COUNT(*) FROM t"), 2010);
}

TEST_F(SqliteConnectionTest, CheckpointsFromASeparateConnection) {
  const auto writer = connect({.checkpoint_pages = 0});
  const auto keeper = connect();
  make_table(*writer);
  ASSERT_TRUE(fill(*writer, 0, 20'000).ok());
  EXPECT_GT(std::filesystem::file_size(path_ + "-wal"), 4'000'000U) << "nobody else checkpoints";

  const auto passive = keeper->checkpoint(CheckpointKind::kPassive).value();
  EXPECT_GT(passive.log_pages, 1000);
  EXPECT_EQ(passive.copied_pages, passive.log_pages);
  EXPECT_TRUE(keeper->sync_database().ok());
  EXPECT_FALSE(keeper->checkpoint(CheckpointKind::kRestart).value().busy);
  const auto log_bytes = std::filesystem::file_size(path_ + "-wal");
  ASSERT_TRUE(fill(*writer, 20'000, 100).ok());
  EXPECT_EQ(std::filesystem::file_size(path_ + "-wal"), log_bytes) << "it was not begun anew";
  EXPECT_EQ(number(*writer, "SELECT COUNT(*) FROM t"), 20'100);
}

TEST_F(SqliteConnectionTest, CheckpointKeepsPagesThatAReaderNeeds) {
  const auto writer = connect({.checkpoint_pages = 0});
  make_table(*writer);
  const auto reader = connect({.read_only = true});
  ASSERT_TRUE(reader->begin().ok());
  EXPECT_EQ(number(*reader, "SELECT COUNT(*) FROM t"), 0);
  ASSERT_TRUE(fill(*writer, 0, 1000).ok());

  const auto keeper = connect({.busy_timeout = std::chrono::milliseconds{1}});
  const auto passive = keeper->checkpoint(CheckpointKind::kPassive).value();
  EXPECT_LT(passive.copied_pages, passive.log_pages);
  EXPECT_TRUE(keeper->checkpoint(CheckpointKind::kRestart).value().busy);
}

TEST_F(SqliteConnectionTest, ClosingRollsBackAnOpenTransaction) {
  {
    const auto connection = connect();
    make_table(*connection);
    ASSERT_TRUE(connection->begin().ok());
    ASSERT_TRUE(fill(*connection, 0, 10).ok());
  }
  EXPECT_EQ(number(*connect(), "SELECT COUNT(*) FROM t"), 0);
}

using SqliteConnectionDeathTest = SqliteConnectionTest;

TEST_F(SqliteConnectionDeathTest, CommitWithoutATransactionAborts) {
  const auto connection = connect();
  EXPECT_DEATH((void)connection->commit(), "commit\\(\\) follows begin\\(\\)");
}

}  // namespace
}  // namespace carillon::sql
