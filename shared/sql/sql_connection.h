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
//   kTimeout         the connection broke inside COMMIT: committed or not, nobody knows here
//   kConflict        deadlock or lock time-out: the transaction is rolled back, run it again
//   kInvalidArgument a statement or a value is wrong; the transaction was rolled back
//   kLimit           disk full or a server limit reached
//   kDenied          wrong user or password
//   kCorrupt         the database file is damaged or no database
// A failed statement leaves no transaction open, except after kTimeout, when the connection is dead.
//
// Thread: one store thread owns a connection; never shared.
class Connection {
 public:
  virtual ~Connection() = default;

  virtual Dialect dialect() const = 0;

  virtual Status begin() = 0;
  virtual Status commit() = 0;
  virtual Status rollback() = 0;  // fine without a transaction

  // Runs one statement; the number of rows it matched (an UPDATE that changes nothing counts).
  // Statements are prepared once and kept, by their text.
  virtual Result<std::int64_t> execute(std::string_view sql, std::span<const Value> parameters) = 0;
  virtual Status query(std::string_view sql, std::span<const Value> parameters,
                       const std::function<void(const Row&)>& on_row) = 0;

  // Inserts many rows, `values` row after row; in as few round trips as the database allows.
  // `head` is "INSERT INTO t (a, b) VALUES" ("REPLACE INTO ..." likewise); columns is how many
  // values a row has.
  virtual Status insert_rows(std::string_view head, int columns, std::span<const Value> values) = 0;

  // Deletes the rows of `table` named by their keys, and says for each whether it was there.
  // `keys` holds, row after row, a value for each of key_columns; no key comes twice.
  virtual Result<std::vector<bool>> delete_rows(std::string_view table,
                                                std::span<const std::string_view> key_columns,
                                                std::span<const Value> keys) = 0;

  // Runs a script of statements separated by ";" at line ends, for schema changes.
  virtual Status run_script(std::string_view script) = 0;
};

}  // namespace carillon::sql
