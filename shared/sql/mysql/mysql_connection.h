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
  // Longest wait of a statement for the server. Longer: tolerates a slow server; shorter: detects a
  // dead one sooner. Whole seconds; must exceed lock_wait.
  std::chrono::seconds connect_timeout{5};
  std::chrono::seconds read_timeout{30};
  std::chrono::seconds write_timeout{30};

  // Longest wait of a statement for another transaction's lock; then kConflict.
  std::chrono::seconds lock_wait{5};

  // Advice if the database does not exist; empty: to create it.
  std::string if_missing{};
};

// A connection to a MariaDB (10.6 or later) or MySQL 8 server over TCP: READ COMMITTED, UTC,
// utf8mb4 with byte-wise text comparison, strict mode, ANSI quotes.
//
// It never reconnects by itself, because a transaction would silently continue on a new session.
// All statements except BEGIN, COMMIT and similar are prepared on the server. Many rows are sent as
// multi-row statements of a power of two rows, so that few texts are prepared.
//
// Of several hosts it uses the first writable one. It skips hosts that do not answer within a
// second, are read-only, or are not in their cluster's primary component.
//
// Errors: see Connection.
//
// Thread: one at a time.
class MysqlConnection final : public Connection {
 public:
  // Errors: kDenied for a wrong password, kInvalidArgument for a missing database, kUnavailable
  // while the server does not answer.
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

  // Requires: URLs with one host.
  static Result<std::unique_ptr<MysqlConnection>> open_at(const MysqlUrl& url,
                                                          const MysqlOptions& options,
                                                          Accept accept);
  static Result<std::unique_ptr<MysqlConnection>> connect(const MysqlUrl& url,
                                                          const MysqlOptions& options);
  Status configure(const MysqlOptions& options, Accept accept);
  // A statement without parameters and result, not prepared.
  Status run_plain(std::string_view sql);
  Result<Statement*> prepare(std::string_view sql, std::span<const Value> parameters);
  // Runs `work`, and converts the library's exceptions; the only place that does so.
  template <class Work>
  auto guarded(std::string_view sql, const Work& work) -> decltype(work());
  // Runs within the caller's transaction, or in its own.
  template <class Work>
  Status atomically(const Work& work);
  // Runs the statement that `text` builds from a join with many rows of `values`, which start with
  // their keys. Returns for each whether its row existed.
  Result<std::vector<bool>> change_rows(
      std::string_view table, std::span<const std::string_view> key_columns, std::size_t width,
      std::span<const Value> values,
      const std::function<std::string(const std::string& join)>& text);
  // Number of the first rows of `values` for one statement: few different numbers, so that few
  // statements are prepared.
  int chunk_rows(std::span<const Value> values, std::size_t width) const;
  // Ends the transaction, and the connection if the error requires it.
  Error failure(int number, const std::string& text, std::string_view sql);
  void close();

  const MysqlUrl url_;  // with the one connected host
  const MysqlOptions options_;
  std::unique_ptr<::sql::Connection> connection_{};  // null after a loss
  std::unique_ptr<::sql::Statement> plain_{};
  StatementCache<Statement> statements_;
  std::size_t packet_max_ = 0;  // bytes of a request
  bool is_galera_ = false;      // the server is a node of a Galera cluster
  bool in_transaction_ = false;
  bool commits_ = false;  // the current statement ends a transaction, or commits by itself
};

}  // namespace carillon::sql
