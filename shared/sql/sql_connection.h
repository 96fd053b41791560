#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"

// One connection to an SQL database, SQLite or MariaDB/MySQL, as the stores need it.
namespace carillon::sql {

// A bound parameter. Text and bytes are views: they must outlive the call they are passed to.
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

// What went wrong, by code:
//   kUnavailable     the database is away; nothing was committed; open a new connection
//   kTimeout         the connection broke inside COMMIT, or inside a write that commits by itself:
//                    committed or not, nobody knows here; open a new connection and look
//   kConflict        deadlock or lock time-out: the transaction is rolled back, run it again
//   kInvalidArgument a statement or a value is wrong; the transaction was rolled back
//   kLimit           disk full or a server limit reached; the transaction was rolled back
//   kDenied          wrong user or password, or no right to do this
//   kCorrupt         the database file is damaged or no database
// A failed statement leaves no transaction open: it was rolled back, or after kUnavailable and
// kTimeout the connection is dead and says so (kUnavailable) to every later call.
//
// What both dialects share, so that one text of SQL can serve them: parameters are "?", names may
// be quoted with "...", text in '...' knows no backslash escapes, || joins texts. Text compares
// byte by byte if its column says so (MySQL: COLLATE utf8mb4_bin, which key columns need; it still
// ignores blanks at the end, VARBINARY does not). Schema statements commit an open transaction on
// MySQL, not on SQLite.
//
// Thread: one store thread owns a connection; never shared.
class Connection {
 public:
  virtual ~Connection() = default;

  virtual Dialect dialect() const = 0;

  // Requires: begin() outside and commit() inside a transaction. Never run BEGIN, COMMIT or
  // ROLLBACK as text: the connection must know where it stands.
  virtual Status begin() = 0;
  virtual Status commit() = 0;
  virtual Status rollback() = 0;  // fine without a transaction

  // Runs one statement; the number of rows it matched (an UPDATE that changes nothing counts).
  // Statements are prepared once and kept, by their text: values belong into parameters.
  virtual Result<std::int64_t> execute(std::string_view sql, std::span<const Value> parameters) = 0;

  // Runs one statement that answers with rows. `on_row` must not use the connection.
  virtual Status query(std::string_view sql, std::span<const Value> parameters,
                       const std::function<void(const Row&)>& on_row) = 0;

  // Inserts many rows, `values` row after row; in as few round trips as the database allows.
  // `head` is "INSERT INTO t (a, b) VALUES" ("REPLACE INTO ..." likewise); columns is how many
  // values a row has. All rows or none, also outside a transaction.
  virtual Status insert_rows(std::string_view head, int columns, std::span<const Value> values) = 0;

  // Deletes the rows of `table` named by their keys, and says for each whether it was there.
  // `keys` holds, row after row, a value for each of key_columns; no key comes twice and none is
  // null. The columns must be the primary key or a unique one, or the start of an index (then
  // several rows may have a key, and what is said of it means nothing). All or none, also outside
  // a transaction.
  virtual Result<std::vector<bool>> delete_rows(std::string_view table,
                                                std::span<const std::string_view> key_columns,
                                                std::span<const Value> keys) = 0;

  // Sets columns of the rows of `table` named by their keys, and says for each whether it was
  // there. `values` holds, row after row, a value for each of key_columns, then one for each of
  // set_columns. Keys as for delete_rows(), unique ones. All or none, as there.
  virtual Result<std::vector<bool>> update_rows(std::string_view table,
                                                std::span<const std::string_view> key_columns,
                                                std::span<const std::string_view> set_columns,
                                                std::span<const Value> values) = 0;

  // Runs a script of statements separated by ";" at line ends, for schema changes. Stops at the
  // first that fails; what the earlier ones did stays, unless a transaction was open on SQLite.
  virtual Status run_script(std::string_view script) = 0;

  // Waits until this connection shows everything that its cluster has committed so far. A node of a
  // Galera cluster may show older rows for some seconds after it was frozen. Requires: no
  // transaction. kUnavailable: it took too long; open a new connection.
  virtual Status catch_up() { return {}; }
};

}  // namespace carillon::sql
