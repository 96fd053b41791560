#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "shared/sql/mysql/mysql_url.h"
#include "shared/sql/sql_connection.h"
#include "shared/sql/statement_cache.h"

namespace sql {
class Connection;
class Statement;
}  // namespace sql

namespace carillon::sql {

struct MysqlOptions {
  // How long a statement waits for the server at all. Longer: a slow server is borne; shorter: a
  // dead one is noticed sooner. Whole seconds; must exceed lock_wait.
  std::chrono::seconds connect_timeout{5};
  std::chrono::seconds read_timeout{30};
  std::chrono::seconds write_timeout{30};

  // How long a statement waits for another transaction's lock before it is kConflict.
  std::chrono::seconds lock_wait{5};

  // What a person should do where the database does not exist; empty: make it.
  std::string if_missing{};
};

// A connection to a MariaDB (10.6 or later) or MySQL 8 server over TCP: READ COMMITTED, UTC,
// utf8mb4 with byte-wise comparison of texts, strict mode, ANSI quotes.
//
// It never connects again by itself, for a transaction would silently continue on a session that
// knows nothing of it. Every statement but BEGIN, COMMIT and the like is prepared on the server;
// many rows go as multi-row statements of a power of two rows, so that few texts are prepared.
//
// Of several hosts it takes the first that can be written to: one that does not answer within a
// second, is read-only or is not part of its cluster's primary component is passed over.
//
// Failures: as Connection says.
//
// Thread: one at a time.
class MysqlConnection final : public Connection {
 public:
  // kDenied for a wrong password, kInvalidArgument for a database that does not exist,
  // kUnavailable while the server does not answer.
  static Result<std::unique_ptr<MysqlConnection>> open(const MysqlUrl& url,
                                                       const MysqlOptions& options);
  ~MysqlConnection() override;
  MysqlConnection(const MysqlConnection&) = delete;
  MysqlConnection& operator=(const MysqlConnection&) = delete;

  Dialect dialect() const override { return Dialect::kMysql; }
  Status begin() override;
  Status commit() override;
  Status rollback() override;
  Result<std::int64_t> execute(std::string_view sql, std::span<const Value> parameters) override;
  Status query(std::string_view sql, std::span<const Value> parameters,
               const std::function<void(const Row&)>& on_row) override;
  Status insert_rows(std::string_view head, int columns, std::span<const Value> values) override;
  Result<std::vector<bool>> delete_rows(std::string_view table,
                                        std::span<const std::string_view> key_columns,
                                        std::span<const Value> keys) override;
  Result<std::vector<bool>> update_rows(std::string_view table,
                                        std::span<const std::string_view> key_columns,
                                        std::span<const std::string_view> set_columns,
                                        std::span<const Value> values) override;
  Status run_script(std::string_view script) override;
  Status catch_up() override;

 private:
  class Statement;
  enum class Accept : std::uint8_t { kAny, kWritable };

  MysqlConnection(MysqlUrl url, MysqlOptions options);

  // The URLs of these have one host.
  static Result<std::unique_ptr<MysqlConnection>> open_at(const MysqlUrl& url,
                                                          const MysqlOptions& options,
                                                          Accept accept);
  static Result<std::unique_ptr<MysqlConnection>> connect(const MysqlUrl& url,
                                                          const MysqlOptions& options);
  Status configure(const MysqlOptions& options, Accept accept);
  // A statement without parameters and without an answer that matters, not prepared.
  Status run_plain(std::string_view sql);
  Result<Statement*> prepare(std::string_view sql, std::span<const Value> parameters);
  // Runs `work`, which may throw what the library throws; the one place where that ends.
  template <class Work>
  auto guarded(std::string_view sql, const Work& work) -> decltype(work());
  // Inside the caller's transaction, or inside one of its own.
  template <class Work>
  Status atomically(const Work& work);
  // Runs the statement that `text` makes of a join with many rows of `values`, which begin with
  // their keys; says for each whether its row was there.
  Result<std::vector<bool>> change_rows(
      std::string_view table, std::span<const std::string_view> key_columns, std::size_t width,
      std::span<const Value> values,
      const std::function<std::string(const std::string& join)>& text);
  // How many of the first rows of `values` one statement takes: few numbers only, so that few
  // statements are prepared.
  int chunk_rows(std::span<const Value> values, std::size_t width) const;
  // Ends the transaction, and the connection if the error says so.
  Error failure(int number, const std::string& text, std::string_view sql);
  void close();

  const MysqlUrl url_;  // of the one host that this is connected to
  const MysqlOptions options_;
  std::unique_ptr<::sql::Connection> connection_{};  // null once it is lost
  std::unique_ptr<::sql::Statement> plain_{};
  StatementCache<Statement> statements_;
  std::size_t packet_max_ = 0;  // bytes of a request
  bool is_galera_ = false;      // the server is a node of a Galera cluster
  bool in_transaction_ = false;
  bool commits_ = false;  // the statement under way ends a transaction, or is one by itself
};

}  // namespace carillon::sql
