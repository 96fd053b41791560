#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"

// A connection to an SQL database, SQLite or MariaDB/MySQL, for the stores.
namespace carillon::sql {

// A bound parameter. Text and bytes are views: they must outlive the call.
struct Value {
  enum class Kind : std::uint8_t { kNull, kInteger, kReal, kText, kBytes };

  Kind kind = Kind::kNull;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text{};  // kText (UTF-8) and kBytes

  static Value null() { return {}; }
  static Value of(std::int64_t value) { return {.kind = Kind::kInteger, .integer = value}; }
  static Value of_real(double value) { return {.kind = Kind::kReal, .real = value}; }
  static Value of_text(std::string_view value) { return {.kind = Kind::kText, .text = value}; }
  static Value of_bytes(std::string_view value) { return {.kind = Kind::kBytes, .text = value}; }
};

// The current row of a query; views are valid until the callback returns. Columns from 0.
class Row {
 public:
  virtual ~Row() = default;
  virtual bool is_null(int column) const = 0;
  virtual std::int64_t integer(int column) const = 0;  // null reads as 0
  virtual double real(int column) const = 0;
  virtual std::string_view bytes(int column) const = 0;  // text and blobs; null reads as empty
};

enum class Dialect { kSqlite, kMysql };

// Errors by code:
//   kUnavailable     the database is unreachable; nothing was committed; open a new connection
//   kTimeout         the connection broke during COMMIT, or during a write that commits by itself:
//                    the outcome is unknown; open a new connection and check
//   kConflict        deadlock or lock time-out: the transaction was rolled back, run it again
//   kInvalidArgument a wrong statement or value; the transaction was rolled back
//   kLimit           disk full or a server limit; the transaction was rolled back
//   kDenied          wrong user or password, or missing rights
//   kCorrupt         the database file is damaged or not a database
// A failed statement leaves no open transaction: it was rolled back. After kUnavailable and
// kTimeout the connection is dead, and each later call returns kUnavailable.
//
// Common syntax of both dialects: parameters are "?", names may be quoted with "...", text in '...'
// has no backslash escapes, || concatenates texts. Text compares byte by byte if its column is
// declared so (MySQL: COLLATE utf8mb4_bin, which key columns need; it still ignores trailing
// spaces, VARBINARY does not). Schema statements commit an open transaction on MySQL, not on
// SQLite.
//
// Thread: one store thread owns a connection; never shared.
class Connection {
 public:
  virtual ~Connection() = default;

  virtual Dialect dialect() const = 0;

  // Requires: begin() outside and commit() inside a transaction. Never run BEGIN, COMMIT or
  // ROLLBACK as text: the connection tracks the transaction.
  virtual Status begin() = 0;
  virtual Status commit() = 0;
  virtual Status rollback() = 0;  // no effect without a transaction

  // Runs one statement. Returns the number of matched rows (including unchanged rows of an UPDATE).
  // Statements are prepared once and cached by their text: pass values as parameters.
  virtual Result<std::int64_t> execute(std::string_view sql, std::span<const Value> parameters) = 0;

  // Runs one statement that returns rows. `on_row` must not use the connection.
  virtual Status query(std::string_view sql, std::span<const Value> parameters,
                       const std::function<void(const Row&)>& on_row) = 0;

  // Inserts many rows, `values` row by row, with as few round trips as possible. `head`: "INSERT
  // INTO t (a, b) VALUES" or "REPLACE INTO ..."; columns: number of values per row. All rows or
  // none, also outside a transaction.
  virtual Status insert_rows(std::string_view head, int columns, std::span<const Value> values) = 0;

  // Deletes the rows of `table` with these keys. Returns for each key whether its row existed.
  // `keys` has, row by row, a value for each of key_columns; keys are unique and not null. The
  // columns must be the primary key or a unique key, or the start of an index (then several rows
  // may match, and the result for the key is undefined). All or none, also outside a transaction.
  virtual Result<std::vector<bool>> delete_rows(std::string_view table,
                                                std::span<const std::string_view> key_columns,
                                                std::span<const Value> keys) = 0;

  // Updates columns of the rows of `table` with these keys. Returns for each key whether its row
  // existed. `values` has, row by row, a value for each of key_columns, then for each of
  // set_columns. Keys as for delete_rows(), unique ones. All or none, also outside a transaction.
  virtual Result<std::vector<bool>> update_rows(std::string_view table,
                                                std::span<const std::string_view> key_columns,
                                                std::span<const std::string_view> set_columns,
                                                std::span<const Value> values) = 0;

  // Runs a script of statements separated by ";" at line ends, for schema changes. Stops at the
  // first failure; the effects of earlier statements stay, unless a transaction was open on SQLite.
  virtual Status run_script(std::string_view script) = 0;

  // Waits until this connection shows everything that its cluster has committed. A node of a Galera
  // cluster may show old rows for some seconds after it was frozen. Requires: no transaction.
  // Error: kUnavailable if it took too long; open a new connection.
  virtual Status catch_up() { return {}; }
};

}  // namespace carillon::sql
