#include "shared/sql/mysql/mysql_connection.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <cppconn/connection.h>
#include <cppconn/driver.h>
#include <cppconn/exception.h>
#include <cppconn/parameter_metadata.h>
#include <cppconn/prepared_statement.h>
#include <cppconn/resultset.h>
#include <cppconn/resultset_metadata.h>
#include <cppconn/statement.h>

#include "shared/base/assert.h"
#include "shared/sql/mysql/mysql_error.h"
#include "shared/sql/sql_text.h"

namespace carillon::sql {
namespace {

constexpr std::size_t kStatementsMax = 500;
constexpr std::size_t kStatementBytesMax = 512
                                           << 10;  // the server needs 60 to 160 times this memory
constexpr std::size_t kPlaceholdersMax = 65'535;   // per statement, by the protocol
constexpr int kChunkRowsMax = 512;
constexpr std::size_t kChunkBytesMax = 4 << 20;
// Of several hosts, one without an answer for this time is skipped.
constexpr std::chrono::seconds kNextHostAfter{1};
// Fails outside the primary component, unlike a query that reads no table.
constexpr std::string_view kCausalRead = "START TRANSACTION";
constexpr std::size_t kKeptBytesMax = 64 << 10;  // larger parameters are released after use

// The library stores its drivers in a map without a lock.
::sql::Driver& driver() {
  static std::once_flag once;
  static ::sql::Driver* instance = nullptr;
  std::call_once(once, [] { instance = get_driver_instance(); });
  return *instance;
}

::sql::SQLString text_of(std::string_view text) { return {text.data(), text.size()}; }

void bind_one(::sql::PreparedStatement& statement, unsigned index, const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return statement.setNull(index, ::sql::DataType::SQLNULL);
    case Value::Kind::kInteger:
      return statement.setInt64(index, value.integer);
    case Value::Kind::kReal:
      return statement.setDouble(index, value.real);
    case Value::Kind::kText:
    case Value::Kind::kBytes:
      return statement.setString(index, text_of(value.text));
  }
}

// A key as a column of its value's type: without the cast, the server would compare integers as
// floating point, and texts by an arbitrary collation, and use no index.
const char* typed_placeholder(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kInteger:
      return "CAST(? AS SIGNED)";
    case Value::Kind::kReal:
      return "CAST(? AS DOUBLE)";
    case Value::Kind::kBytes:
      return "CAST(? AS BINARY)";
    case Value::Kind::kText:
    case Value::Kind::kNull:
      break;
  }
  return "CAST(? AS CHAR CHARACTER SET utf8mb4) COLLATE utf8mb4_bin";
}

// "(SELECT 0 AS n, ? AS k0 UNION ALL SELECT 1, ? ...) AS k STRAIGHT_JOIN table AS t ON ...": finds
// each row by its key, the first columns; the others are values. The server would answer a long IN
// list with a scan that also locks other rows.
std::string join_by_keys(std::string_view table, std::span<const std::string_view> key_columns,
                         std::span<const Value> first_row, int rows) {
  std::string text = "(SELECT 0 AS n";
  std::string others;
  std::string condition;
  for (std::size_t column = 0; column < first_row.size(); ++column) {
    const auto name = "k" + std::to_string(column);
    const std::string placeholder = typed_placeholder(first_row[column]);
    text += ", " + placeholder + " AS " + name;
    others += ", " + placeholder;
    if (column >= key_columns.size()) continue;
    condition += column == 0 ? " ON t." : " AND t.";
    condition += std::string{key_columns[column]} + " = k." + name;
  }
  for (int row = 1; row < rows; ++row) {
    text += " UNION ALL SELECT " + std::to_string(row) + others;
  }
  return text + ") AS k STRAIGHT_JOIN " + std::string{table} + " AS t" + condition;
}

class MysqlRow final : public Row {
 public:
  explicit MysqlRow(::sql::ResultSet& rows)
      : rows_(rows), texts_(rows.getMetaData()->getColumnCount()) {}

  bool is_null(int column) const override { return rows_.isNull(number_of(column)); }
  std::int64_t integer(int column) const override { return rows_.getInt64(number_of(column)); }
  double real(int column) const override {
    return static_cast<double>(rows_.getDouble(number_of(column)));
  }
  std::string_view bytes(int column) const override {
    auto& text = texts_[static_cast<std::size_t>(column)];
    text = rows_.getString(number_of(column));
    return text.asStdString();
  }

 private:
  static std::uint32_t number_of(int column) { return static_cast<std::uint32_t>(column) + 1; }

  ::sql::ResultSet& rows_;
  mutable std::vector<::sql::SQLString> texts_;  // storage for the returned views
};

}  // namespace

// A statement prepared on the server; closed with its owner.
class MysqlConnection::Statement {
 public:
  explicit Statement(std::unique_ptr<::sql::PreparedStatement> prepared)
      : handle(std::move(prepared)),
        parameters(handle->getParameterMetaData()->getParameterCount()) {}

  // The library keeps copies of the values until the next run.
  void let_go(std::span<const Value> values) const {
    std::size_t bytes = 0;
    for (const auto& value : values) bytes += value.text.size();
    if (bytes > kKeptBytesMax) handle->clearParameters();
  }

  std::unique_ptr<::sql::PreparedStatement> handle;
  std::size_t parameters;
};

MysqlConnection::MysqlConnection(MysqlUrl url, MysqlOptions options)
    : url_(std::move(url)),
      options_(std::move(options)),
      statements_(kStatementsMax, kStatementBytesMax) {}

MysqlConnection::~MysqlConnection() { close(); }

void MysqlConnection::close() {
  statements_.clear();
  plain_.reset();
  connection_.reset();
  in_transaction_ = false;
}

Result<std::unique_ptr<MysqlConnection>> MysqlConnection::open(const MysqlUrl& url,
                                                               const MysqlOptions& options) {
  CARILLON_ASSERT(options.lock_wait < options.read_timeout,
                  "the server reports a lock time-out, not a broken connection");
  if (!url.has_several()) return open_at(url, options, Accept::kAny);
  MysqlOptions quick = options;
  quick.connect_timeout = std::min(options.connect_timeout, kNextHostAfter);
  std::string reasons;
  for (const MysqlHost& host : url.hosts) {
    auto made = open_at(url.at(host), quick, Accept::kWritable);
    if (made.ok() || made.error().code != ErrorCode::kUnavailable) return made;
    reasons += (reasons.empty() ? "" : "; ") + made.error().message;
  }
  return Error{ErrorCode::kUnavailable, reasons};
}

Result<std::unique_ptr<MysqlConnection>> MysqlConnection::open_at(const MysqlUrl& url,
                                                                  const MysqlOptions& options,
                                                                  Accept accept) {
  auto made = CARILLON_TRY(connect(url, options));
  CARILLON_TRY(made->configure(options, accept));
  CARILLON_TRY(made->catch_up());
  return made;
}

Result<std::unique_ptr<MysqlConnection>> MysqlConnection::connect(const MysqlUrl& url,
                                                                  const MysqlOptions& options) {
  std::unique_ptr<MysqlConnection> made{new MysqlConnection{url, options}};
  const auto work = [&]() -> Status {
    ::sql::ConnectOptionsMap map;
    map["hostName"] = ::sql::SQLString{"tcp://" + url.hosts.front().text()};
    map["userName"] = ::sql::SQLString{url.user};
    map["password"] = ::sql::SQLString{url.password};
    map["schema"] = ::sql::SQLString{url.database};
    map["OPT_CONNECT_TIMEOUT"] = static_cast<int>(options.connect_timeout.count());
    map["OPT_READ_TIMEOUT"] = static_cast<int>(options.read_timeout.count());
    map["OPT_WRITE_TIMEOUT"] = static_cast<int>(options.write_timeout.count());
    map["CLIENT_FOUND_ROWS"] = true;
    if (!url.ssl_ca.empty()) {
      map["sslCA"] = ::sql::SQLString{url.ssl_ca};
      map["sslVerify"] = true;
      map["sslEnforce"] = true;
    }
    made->connection_.reset(driver().connect(map));
    made->plain_.reset(made->connection_->createStatement());
    return {};
  };
  CARILLON_TRY(made->guarded("", work));
  return made;
}

Status MysqlConnection::configure(const MysqlOptions& options, Accept accept) {
  const auto wait = std::to_string(options.lock_wait.count());
  // The library has just forced REPEATABLE READ, regardless of the server's default.
  CARILLON_TRY(run_plain("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"));
  CARILLON_TRY(run_plain("SET NAMES utf8mb4 COLLATE utf8mb4_bin"));
  CARILLON_TRY(run_plain(
      "SET SESSION time_zone = '+00:00', sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,"
      "NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',"
      " innodb_lock_wait_timeout = " +
      wait + ", lock_wait_timeout = " + wait));
  bool is_read_only = false;
  CARILLON_TRY(query("SELECT @@max_allowed_packet, @@global.read_only", {}, [&](const Row& row) {
    packet_max_ = static_cast<std::size_t>(row.integer(0));
    is_read_only = row.bytes(1) != "0" && row.bytes(1) != "OFF";
  }));
  if (is_read_only && accept == Accept::kWritable)
    return failure(kReadOnly, "the server is read-only", "");
  return query("SHOW SESSION VARIABLES LIKE 'wsrep_on'", {},
               [this](const Row& row) { is_galera_ = row.bytes(1) == "ON"; });
}

// On a separate connection, because that can have a short time-out.
Status MysqlConnection::catch_up() {
  if (!is_galera_) return {};
  MysqlOptions quick = options_;
  quick.read_timeout = quick.write_timeout = options_.connect_timeout;
  const auto wait = [&]() -> Status {
    const auto probe = CARILLON_TRY(connect(url_, quick));
    CARILLON_TRY(probe->run_plain("SET SESSION wsrep_sync_wait = 1"));
    return probe->run_plain(kCausalRead);
  };
  const Status caught_up = wait();
  if (caught_up.ok()) return {};
  return Error{ErrorCode::kUnavailable, "the node may not show its cluster's last commits yet: " +
                                            caught_up.error().message};
}

template <class Work>
auto MysqlConnection::guarded(std::string_view sql, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const ::sql::SQLException& exception) {
    return failure(exception.getErrorCode(), exception.what(), sql);
  } catch (const std::exception& exception) {
    return failure(0, exception.what(), sql);
  }
}

Error MysqlConnection::failure(int number, const std::string& text, std::string_view sql) {
  const auto found = mysql_failure(number, text);
  auto code = found.code;
  if (found.connection_lost && commits_ && connection_ != nullptr) code = ErrorCode::kTimeout;
  std::string message = url_.masked() + ": " + text;
  if (number != 0) message += " (" + std::to_string(number) + ")";
  const bool is_missing = number == kUnknownDatabase && !options_.if_missing.empty();
  const std::string advice = is_missing ? options_.if_missing : found.advice;
  if (!advice.empty()) message += ": " + advice;
  if (!sql.empty()) message += " [" + statement_excerpt(sql) + "]";

  commits_ = false;
  // After a failed run, the statement may have half-sent parameters.
  statements_.erase(sql);
  if (found.connection_lost) {
    close();
  } else if (in_transaction_) {
    in_transaction_ = false;
    // A lock time-out rolls back only the statement, and leaves the transaction open.
    try {
      plain_->execute("ROLLBACK");
    } catch (const std::exception&) {
      close();
    }
  }
  return {code, std::move(message)};
}

Status MysqlConnection::run_plain(std::string_view sql) {
  return guarded(sql, [&]() -> Status {
    if (connection_ == nullptr) return failure(2006, "the connection was lost", sql);
    if (plain_->execute(text_of(sql))) {
      const std::unique_ptr<::sql::ResultSet> unread{plain_->getResultSet()};
    }
    return {};
  });
}

Status MysqlConnection::begin() {
  CARILLON_ASSERT(!in_transaction_, "transactions do not nest");
  CARILLON_TRY(run_plain("START TRANSACTION"));
  in_transaction_ = true;
  return {};
}

Status MysqlConnection::commit() {
  CARILLON_ASSERT(in_transaction_, "commit() follows begin() without a failure in between");
  commits_ = true;
  // As text: the library's own commit() drops the server's answer.
  auto status = run_plain("COMMIT");
  commits_ = false;
  in_transaction_ = false;
  return status;
}

Status MysqlConnection::rollback() {
  if (!in_transaction_) return {};
  CARILLON_TRY(run_plain("ROLLBACK"));
  in_transaction_ = false;
  return {};
}

Result<MysqlConnection::Statement*> MysqlConnection::prepare(std::string_view sql,
                                                             std::span<const Value> parameters) {
  if (connection_ == nullptr) return failure(2006, "the connection was lost", sql);
  auto* statement = statements_.find(sql);
  if (statement == nullptr) {
    auto made = std::make_unique<Statement>(
        std::unique_ptr<::sql::PreparedStatement>{connection_->prepareStatement(text_of(sql))});
    statement = statements_.insert(sql, std::move(made));
  }
  // The library would run with the values of an earlier call.
  if (statement->parameters != parameters.size()) {
    return failure(0,
                   std::to_string(parameters.size()) + " parameters for a statement that takes " +
                       std::to_string(statement->parameters),
                   sql);
  }
  unsigned index = 0;
  for (const auto& value : parameters) bind_one(*statement->handle, ++index, value);
  return statement;
}

Result<std::int64_t> MysqlConnection::execute(std::string_view sql,
                                              std::span<const Value> parameters) {
  return guarded(sql, [&]() -> Result<std::int64_t> {
    auto* statement = CARILLON_TRY(prepare(sql, parameters));
    commits_ = !in_transaction_;
    const std::int64_t rows = statement->handle->executeUpdate();
    commits_ = false;
    statement->let_go(parameters);
    return rows;
  });
}

Status MysqlConnection::query(std::string_view sql, std::span<const Value> parameters,
                              const std::function<void(const Row&)>& on_row) {
  return guarded(sql, [&]() -> Status {
    auto* statement = CARILLON_TRY(prepare(sql, parameters));
    const std::unique_ptr<::sql::ResultSet> rows{statement->handle->executeQuery()};
    const MysqlRow row{*rows};
    while (rows->next()) on_row(row);
    statement->let_go(parameters);
    return {};
  });
}

template <class Work>
Status MysqlConnection::atomically(const Work& work) {
  if (in_transaction_) return work();
  CARILLON_TRY(begin());
  CARILLON_TRY(work());
  return commit();
}

int MysqlConnection::chunk_rows(std::span<const Value> values, std::size_t width) const {
  const auto bytes_max = std::min(kChunkBytesMax, packet_max_ / 2);
  std::size_t bytes = 0;
  std::size_t fitting = 0;
  for (; fitting * width < values.size() && fitting < kChunkRowsMax; ++fitting) {
    for (const auto& value : values.subspan(fitting * width, width)) bytes += 9 + value.text.size();
    if (bytes > bytes_max || (fitting + 1) * width > kPlaceholdersMax) break;
  }
  // The first three binary digits of it, followed by zeros.
  std::size_t step = 1;
  while (fitting / step >= 8) step *= 2;
  return static_cast<int>(std::max<std::size_t>(fitting / step * step, 1));
}

Status MysqlConnection::insert_rows(std::string_view head, int columns,
                                    std::span<const Value> values) {
  const auto width = static_cast<std::size_t>(columns);
  CARILLON_ASSERT(columns > 0 && values.size() % width == 0, "the values form whole rows");
  if (values.empty()) return {};
  return atomically([&]() -> Status {
    while (!values.empty()) {
      const int rows = chunk_rows(values, width);
      const auto chunk = values.first(static_cast<std::size_t>(rows) * width);
      CARILLON_TRY(execute(std::string{head} + " " + placeholder_rows(rows, columns), chunk));
      values = values.subspan(chunk.size());
    }
    return {};
  });
}

Result<std::vector<bool>> MysqlConnection::delete_rows(
    std::string_view table, std::span<const std::string_view> key_columns,
    std::span<const Value> keys) {
  return change_rows(table, key_columns, key_columns.size(), keys,
                     [](const std::string& join) { return "DELETE t FROM " + join; });
}

Result<std::vector<bool>> MysqlConnection::update_rows(
    std::string_view table, std::span<const std::string_view> key_columns,
    std::span<const std::string_view> set_columns, std::span<const Value> values) {
  std::string set = " SET ";
  for (std::size_t column = 0; column < set_columns.size(); ++column) {
    set += (column == 0 ? "t." : ", t.") + std::string{set_columns[column]} + " = k.k" +
           std::to_string(key_columns.size() + column);
  }
  return change_rows(table, key_columns, key_columns.size() + set_columns.size(), values,
                     [&set](const std::string& join) { return "UPDATE " + join + set; });
}

Result<std::vector<bool>> MysqlConnection::change_rows(
    std::string_view table, std::span<const std::string_view> key_columns, std::size_t width,
    std::span<const Value> values, const std::function<std::string(const std::string&)>& text) {
  CARILLON_ASSERT(!key_columns.empty() && values.size() % width == 0, "the values form whole rows");
  std::vector<bool> was_there(values.size() / width, false);
  if (values.empty()) return was_there;
  std::size_t done = 0;
  const auto work = [&]() -> Status {
    while (!values.empty()) {
      const int rows = chunk_rows(values, width);
      const auto chunk = values.first(static_cast<std::size_t>(rows) * width);
      const auto join = join_by_keys(table, key_columns, values.first(width), rows);
      // Nearly always all rows exist, and only their number is needed.
      CARILLON_TRY(run_plain("SAVEPOINT before_change"));
      const std::int64_t changed = CARILLON_TRY(execute(text(join), chunk));
      if (changed == rows) {
        std::fill_n(was_there.begin() + static_cast<std::ptrdiff_t>(done), rows, true);
      } else if (changed != 0) {
        CARILLON_TRY(run_plain("ROLLBACK TO SAVEPOINT before_change"));
        CARILLON_TRY(query("SELECT k.n FROM " + join + " FOR UPDATE", chunk, [&](const Row& row) {
          was_there[done + static_cast<std::size_t>(row.integer(0))] = true;
        }));
        CARILLON_TRY(execute(text(join), chunk));
      }
      done += static_cast<std::size_t>(rows);
      values = values.subspan(chunk.size());
    }
    return {};
  };
  CARILLON_TRY(atomically(work));
  return was_there;
}

Status MysqlConnection::run_script(std::string_view script) {
  for (const auto& statement : split_script(script)) CARILLON_TRY(run_plain(statement));
  return {};
}

}  // namespace carillon::sql
